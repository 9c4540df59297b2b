// Where the program keeps what it could make again.
#pragma once

#include <string>

namespace weft::app {

// Of the compiled code of modules: below $WEFT_CACHE_DIR, else $XDG_CACHE_HOME/weft, else
// $HOME/.cache/weft. Empty: nothing is kept, as WEFT_CACHE_DIR is set and empty, or no place is
// known.
std::string code_cache_folder();

}  // namespace weft::app
