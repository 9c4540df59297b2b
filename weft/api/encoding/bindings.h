// The native functions of this folder.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> encoding_bindings();

// Gives the script the text of UTF-8 bytes without a byte order mark, malformed sequences replaced
// by U+FFFD. Throws if the text is too long for a string. Owning isolate only.
void give_text(js::Call& call, Bytes utf8);

}  // namespace weft::api
