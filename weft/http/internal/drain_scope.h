// DrainScope: what runs in it is cancelled when the server drains, besides all that would cancel it
// otherwise. For streams that have no end of their own, and would hold the drain to its deadline.
//
// Owned by the fiber that runs in it; scopes are left in the reverse order of their beginning.
#pragma once

#include "weft/fiber/cancel.h"

namespace weft::http {

class DrainScope : private CancelListener {
public:
    // The token of the one who drains; one that is never cancelled where nobody does.
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
