// FrameBoundary: follows the frames of one direction of a WebSocket (RFC 6455 §5.2), so that a
// relay of bytes knows when it may insert a frame of its own. Owned by the fiber that relays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.h"

namespace weft::http {

class FrameBoundary {
public:
    // Takes note of the bytes that were sent next.
    void pass(Bytes bytes);
    // The position is unknown from now on, for example because a write has failed half-way.
    void lose_track() { is_lost_ = true; }
    // Whether the position is between two frames, and not behind a Close, after which nothing may
    // follow.
    bool may_send() const { return !is_lost_ && !has_closed_ && head_bytes_ == 0 && left_ == 0; }

private:
    std::size_t whole_head() const;  // the size of the head whose first two bytes are known
    void begin_payload();

    std::array<std::uint8_t, 14> head_{};  // the largest head of a frame
    std::size_t head_bytes_ = 0;           // received so far
    std::uint64_t left_ = 0;               // of the payload
    bool has_closed_ = false;
    bool is_lost_ = false;
};

}  // namespace weft::http
