// The module that `weft eval` runs: it evaluates a text and writes its value.
#pragma once

#include <string>
#include <string_view>

namespace weft::app {

// The source of that module. A text with import or export declarations is a module already, and is
// returned unchanged.
std::string evaluation_of(std::string_view text);

}  // namespace weft::app
