// The usual names of header fields, each with a number. Scripts hold a string for each of them, so
// a native function passes the number and V8 makes no string. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::api {

inline constexpr std::uint32_t kUnknownName = 0xFFFFFFFF;

std::span<const std::string_view> known_names();
// The place of the name in known_names(), without regard to case; kUnknownName for other names.
std::uint32_t number_of_name(std::string_view name);

}  // namespace weft::api
