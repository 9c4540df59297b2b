// `weft init`: writes an application that can be run at once, with a test.
//
// A plain thread.
#pragma once

#include <expected>
#include <map>
#include <string>

#include "weft/app/command_line.h"

namespace weft::app {

// The name of the new application: letters, digits, "-", "_" and ".", as in names of packages. The
// error is text for people.
std::expected<std::string, std::string> name_of_new(const InitCommand& command);

// The texts of the files, by their names.
std::map<std::string, std::string> files_of_new(const InitCommand& command,
                                                const std::string& name);

// Writes all files, or none if one of them exists. Returns the exit status.
int init(const InitCommand& command);

}  // namespace weft::app
