// The program around a table of scenarios: runs them over many seeds, and replays one.
//
//     int main(int count, char** words) {
//         return weft::sim::run_tool("my-sim", kScenarios, {words, words + count});
//     }
//
// `my-sim --help` explains its options.
#pragma once

#include <span>
#include <string_view>

#include "weft/sim/scenario.h"

namespace weft::sim {

// `words` are the arguments of main(), the program's path first. Returns the exit status.
int run_tool(std::string_view program, std::span<const Scenario> scenarios,
             std::span<char* const> words);

}  // namespace weft::sim
