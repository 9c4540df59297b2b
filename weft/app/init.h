// `weft init`: writes an application that runs at once, with a test.
//
// A plain thread.
#pragma once

#include <expected>
#include <map>
#include <string>

#include "weft/app/command_line.h"

namespace weft::app {

// Letters, digits, "-", "_" and ".", as packages are called.
std::expected<std::string, std::string> name_of_new(const InitCommand& command);

// The files by their names.
std::map<std::string, std::string> files_of_new(const InitCommand& command,
                                                const std::string& name);

// Writes all of them or, where one of them is already, none.
int init(const InitCommand& command);

}  // namespace weft::app
