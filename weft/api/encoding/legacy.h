// The decoders of the Encoding standard for all encodings but UTF-8
// (https://encoding.spec.whatwg.org/#legacy-single-byte-encodings and following). The state
// machines follow the standard. The character indexes are made from ICU's converters, corrected in
// the few places where these differ from the standard. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"

namespace weft::api {

// In the order of `encodings` in encoding.js.
enum class Encoding : std::uint8_t {
    Utf8,
    Ibm866,
    Iso2,
    Iso3,
    Iso4,
    Iso5,
    Iso6,
    Iso7,
    Iso8,
    Iso8I,
    Iso10,
    Iso13,
    Iso14,
    Iso15,
    Iso16,
    Koi8R,
    Koi8U,
    Macintosh,
    Windows874,
    Windows1250,
    Windows1251,
    Windows1252,
    Windows1253,
    Windows1254,
    Windows1255,
    Windows1256,
    Windows1257,
    Windows1258,
    XMacCyrillic,
    Gbk,
    Gb18030,
    Big5,
    EucJp,
    Iso2022Jp,
    ShiftJis,
    EucKr,
    Replacement,
    Utf16Be,
    Utf16Le,
    XUserDefined,
};

enum class AtEnd : std::uint8_t { Hold, Flush };

// The state of a decoder between two chunks of a stream: 8 bytes, which the script stores.
struct DecoderState {
    std::uint8_t pending_count = 0;
    std::uint8_t pending[4] = {};  // the bytes of an incomplete character
    std::uint8_t mode = 0;         // of ISO-2022-JP; see legacy.cpp
    std::uint8_t output_mode = 0;
    std::uint8_t flag = 0;
};

// Collects the output of a decoder.
class DecodedText {
public:
    // With `fatal` the decoder stops at the first error.
    explicit DecodedText(bool fatal) : fatal_(fatal) {}
    void add(char32_t code);
    void error() {
        failed_ = true;
        text_ += u'\uFFFD';
    }
    bool stopped() const { return failed_ && fatal_; }
    std::u16string& text() { return text_; }

private:
    std::u16string text_;
    bool fatal_;
    bool failed_ = false;
};

// Decodes the pending bytes of `state` followed by `input`.
void decode_legacy(Encoding encoding, Bytes input, AtEnd end, DecoderState& state,
                   DecodedText& out);

}  // namespace weft::api
