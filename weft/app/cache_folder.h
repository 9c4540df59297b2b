// The folder for files that the program can make again.
#pragma once

#include <string>

namespace weft::app {

// The folder for the compiled code of modules: below $WEFT_CACHE_DIR, else $XDG_CACHE_HOME/weft,
// else $HOME/.cache/weft. Empty: no code is kept, because WEFT_CACHE_DIR is set and empty, or none
// of these variables names a folder.
std::string code_cache_folder();

}  // namespace weft::app
