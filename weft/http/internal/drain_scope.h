// DrainScope: cancels what the fiber does in it when the server drains, too. For streams that have
// no end of their own, and would let the drain wait for its whole limit.
//
// Owned by the fiber that runs in it; scopes end in the reverse order of their beginning.
#pragma once

#include "weft/fiber/cancel.h"

namespace weft::http {

class DrainScope : private CancelListener {
public:
    // `drain` is cancelled when the drain begins; an empty token where there is no drain.
    explicit DrainScope(const CancelToken& drain)
        : CancelListener(on_drain), drain_(drain), scope_(source_.token()) {
        if (drain_.state()) listen(drain_.state());
    }
    ~DrainScope() { stop(); }

    bool has_begun() const { return drain_.is_cancelled(); }

private:
    static void on_drain(CancelListener& listener, CancelReason) {
        static_cast<DrainScope&>(listener).source_.cancel(CancelReason::Shutdown);
    }

    const CancelToken drain_;
    CancelSource source_;
    CancelScope scope_;
};

}  // namespace weft::http
