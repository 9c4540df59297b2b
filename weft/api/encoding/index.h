// The indexes of the Encoding standard (https://encoding.spec.whatwg.org/#indexes). Each maps a
// pointer to a code point, or to 0 where the index has null. They are made from ICU's converters on
// first use. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/api/encoding/legacy.h"

namespace weft::api {

using SingleByteIndex = std::array<char16_t, 128>;

const SingleByteIndex& single_byte_index(Encoding encoding);
char32_t index_gb18030(std::uint32_t pointer);
char32_t index_gb18030_ranges(std::uint32_t pointer);
char32_t index_big5(std::uint32_t pointer);
char32_t index_jis0208(std::uint32_t pointer);
char32_t index_jis0212(std::uint32_t pointer);
char32_t index_euc_kr(std::uint32_t pointer);

}  // namespace weft::api
