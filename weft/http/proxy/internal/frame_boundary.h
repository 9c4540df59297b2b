// FrameBoundary: where the frames of one direction of a WebSocket end (RFC 6455 §5.2), for one who
// only passes them on and wants to put in a frame of his own. Owned by the fiber that passes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.h"

namespace weft::http {

class FrameBoundary {
public:
    // These bytes come next.
    void pass(Bytes bytes);
    // How much of what is passed now reaches the other side is not known.
    void lose_track() { is_lost_ = true; }
    // Between two frames; not behind a Close, after which nothing may follow.
    bool may_send() const { return !is_lost_ && !has_closed_ && head_bytes_ == 0 && left_ == 0; }

private:
    std::size_t whole_head() const;  // of the frame that begins so
    void begin_payload();

    std::array<std::uint8_t, 14> head_{};
    std::size_t head_bytes_ = 0;
    std::uint64_t left_ = 0;  // of the payload
    bool has_closed_ = false;
    bool is_lost_ = false;
};

}  // namespace weft::http
