// PeerWatch: cancels a token of its own when bytes from the peer of a connection arrive, or the
// peer closes.
//
// It lets a fiber wait for something else under that token and still notice the peer. Owned by one
// fiber, which calls everything here. The descriptor outlives the watch, and nothing else may be
// armed on it between start() and stop().
#pragma once

#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io.h"
#include "weft/http/internal/descriptor_watch.h"

namespace weft::http {

class PeerWatch {
public:
    // The token is a child of `parent`.
    explicit PeerWatch(Descriptor& descriptor, const CancelToken& parent = {})
        : descriptor_(descriptor), source_(parent) {
        watch_.begin(source_.token().state());
    }
    ~PeerWatch() { stop(); }
    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;

    // False: something may have arrived already, and nothing is watched; try to read. On a plain
    // thread, which has no reactor, this returns true and nothing is ever noticed.
    bool start() {
        WEFT_ASSERT(!has_fired(), "a watch fires once");
        Result<bool> armed = watch_.arm(descriptor_, kReadable | kHangUp);
        return !armed || *armed;
    }
    // Afterwards the token is not cancelled by the peer any more. Idempotent.
    void stop() { watch_.stop(descriptor_); }

    // Whether something arrived. Ask after stop().
    bool has_fired() const { return watch_.has_fired(); }
    CancelToken token() const { return source_.token(); }

private:
    Descriptor& descriptor_;
    CancelSource source_;
    DescriptorWatch watch_;
};

}  // namespace weft::http
