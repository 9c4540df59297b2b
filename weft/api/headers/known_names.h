// Names of header fields that come again and again, each with its number: scripts have their
// strings once and for all, and are told the number instead of the text. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::api {

inline constexpr std::uint32_t kUnknownName = 0xFFFFFFFF;

std::span<const std::string_view> known_names();
// Whatever its case; kUnknownName for any other.
std::uint32_t number_of_name(std::string_view name);

}  // namespace weft::api
