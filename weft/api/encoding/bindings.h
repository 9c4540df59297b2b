// The native functions of this room.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> encoding_bindings();

// Gives the text of UTF-8 bytes, errors replaced and without the byte order mark; throws when it is
// too long for a string.
void give_text(js::Call& call, Bytes utf8);

}  // namespace weft::api
