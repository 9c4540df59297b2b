// From an address of the program to what people call the place.
//
//     symbols::describe(address)      "weft::yield() (weft/fiber/fiber.cpp:40)"
//     symbols::describe(addresses)    one text each, for the price of little more than one
//
// Paths are relative to the source tree where the compiler's working folder lies in it. A function
// that was inlined is named with the one that it was inlined into. Without line numbers (a program
// built without -g) there is the function alone, with the offset in it; without libdw, which is
// loaded when it is first needed, the nearest exported name.
//
// An address points into the instruction: of a return address take one off.
//
// Any thread or fiber. Reads the program's files: milliseconds, so never on a path that is hot.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::symbols {

// Between a function that was inlined and the one that it was inlined into.
inline constexpr std::string_view kInlinedIn = " inlined in ";

std::string describe(std::uintptr_t address);
std::vector<std::string> describe(std::span<const std::uintptr_t> addresses);

}  // namespace weft::symbols
