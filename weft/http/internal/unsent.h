// What is left of the parts of a vectored write when some bytes of them were sent.
#pragma once

#include <cstddef>
#include <span>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"

namespace weft::http {

// The parts behind the first `sent` bytes, which the stream has taken. The first of them is not
// empty.
inline std::span<Bytes> unsent(std::span<Bytes> parts, std::size_t sent) {
    while (!parts.empty() && sent >= parts.front().size()) {
        sent -= parts.front().size();
        parts = parts.subspan(1);
    }
    if (!parts.empty()) {
        parts.front() = parts.front().subspan(sent);
    } else {
        WEFT_ASSERT(sent == 0, "a stream takes no more than it is given");
    }
    return parts;
}

}  // namespace weft::http
