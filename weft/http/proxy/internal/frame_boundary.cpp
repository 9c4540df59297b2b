#include "weft/http/proxy/internal/frame_boundary.h"

#include <algorithm>

#include "weft/base/assert.h"

namespace weft::http {
namespace {

constexpr std::size_t kMaskBytes = 4;
constexpr std::uint8_t kIsMasked = 0x80;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;
constexpr std::uint8_t kOpcodeBits = 0x0F;
constexpr std::uint8_t kClose = 0x8;

}  // namespace

void FrameBoundary::pass(Bytes bytes) {
    while (!bytes.empty()) {
        if (left_ > 0) {
            WEFT_DASSERT(head_bytes_ == 0, "the head has ended");
            std::uint64_t part = std::min<std::uint64_t>(left_, bytes.size());
            left_ -= part;
            bytes = bytes.subspan(static_cast<std::size_t>(part));
            continue;
        }
        WEFT_ASSERT(head_bytes_ < head_.size(), "no head is longer");
        head_[head_bytes_++] = std::to_integer<std::uint8_t>(bytes.front());
        bytes = bytes.subspan(1);
        if (head_bytes_ >= 2 && head_bytes_ == whole_head()) begin_payload();
    }
}

std::size_t FrameBoundary::whole_head() const {
    WEFT_DASSERT(head_bytes_ >= 2, "the second byte tells the length");
    std::uint8_t length = head_[1] & ~kIsMasked;
    std::size_t bytes = 2;
    if (length == kLength16) bytes += 2;
    if (length == kLength64) bytes += 8;
    return head_[1] & kIsMasked ? bytes + kMaskBytes : bytes;
}

void FrameBoundary::begin_payload() {
    WEFT_DASSERT(head_bytes_ == whole_head());
    std::uint8_t length = head_[1] & ~kIsMasked;
    std::size_t end = length == kLength16 ? 4 : length == kLength64 ? 10 : 2;
    left_ = end == 2 ? length : 0;
    for (std::size_t i = 2; i < end; ++i) left_ = left_ << 8 | head_[i];
    has_closed_ |= (head_[0] & kOpcodeBits) == kClose;
    head_bytes_ = 0;
}

}  // namespace weft::http
