// UTF-8 by the Encoding standard (https://encoding.spec.whatwg.org/#utf-8-decoder). Any thread.
#pragma once

#include <cstddef>

#include "weft/base/bytes.h"

namespace weft::api {

bool is_ascii(Bytes bytes);
// Whether the UTF-8 decoder would find no error.
bool is_utf8(Bytes bytes);
// The length, 0 to 3, of an incomplete sequence at the end that further bytes could complete.
std::size_t incomplete_tail(Bytes bytes);

}  // namespace weft::api
