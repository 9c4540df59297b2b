// The module that `weft eval` runs: it evaluates a text and writes what that comes to.
#pragma once

#include <string>
#include <string_view>

namespace weft::app {

// A text that declares imports or exports is a module already, and stays as it is.
std::string evaluation_of(std::string_view text);

}  // namespace weft::app
