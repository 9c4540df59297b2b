// UTF-8 by the Encoding standard (https://encoding.spec.whatwg.org/#utf-8-decoder). Any thread.
#pragma once

#include <cstddef>

#include "weft/base/bytes.h"

namespace weft::api {

bool is_ascii(Bytes bytes);
// Whether the decoder would find no error.
bool is_utf8(Bytes bytes);
// The length of the incomplete sequence at the end, 0 to 3: more bytes could make a character of
// it.
std::size_t incomplete_tail(Bytes bytes);

}  // namespace weft::api
