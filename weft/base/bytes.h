// Bytes, ByteSpace: a view of raw memory, to read or to fill.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weft {

using Bytes = std::span<const std::byte>;  // borrowed, to read
using ByteSpace = std::span<std::byte>;    // borrowed, to be filled

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string_view as_text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace weft
