// Symbols: from an address of the program to function, file and line.
//
//     symbols::describe(address)      "weft::yield() (weft/fiber/fiber.cpp:40)"
//     symbols::describe(addresses)    one text each, hardly slower than a single one
//
// Paths are relative to the source tree, if the compiler's working folder was in it. An inlined
// function is named together with the one it was inlined into. Without line numbers (a program
// built without -g) the text is the function with an offset; without libdw, which is loaded when it
// is first needed, the nearest exported name.
//
// An address must lie inside an instruction: subtract one from a return address.
//
// Any thread or fiber. Reads the program's files, which takes milliseconds: not for hot paths.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::symbols {

// Stands between an inlined function and the one it was inlined into.
inline constexpr std::string_view kInlinedIn = " inlined in ";

std::string describe(std::uintptr_t address);
std::vector<std::string> describe(std::span<const std::uintptr_t> addresses);

}  // namespace weft::symbols
