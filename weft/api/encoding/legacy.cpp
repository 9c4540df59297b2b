#include "weft/api/encoding/legacy.h"

#include <algorithm>
#include <vector>

#include "weft/api/encoding/index.h"
#include "weft/base/assert.h"

namespace weft::api {

void DecodedText::add(char32_t code) {
    if (code < 0x10000) {
        text_ += static_cast<char16_t>(code);
        return;
    }
    text_ += static_cast<char16_t>(0xD7C0 + (code >> 10));
    text_ += static_cast<char16_t>(0xDC00 + (code & 0x3FF));
}

namespace {

using Byte = std::uint8_t;

constexpr bool between(Byte byte, Byte first, Byte last) { return byte >= first && byte <= last; }

// Decodes one chunk, preceded by the pending bytes. Each decode function reads one character at
// `at_` and advances past the bytes that it used; it returns false if it needs more bytes.
class Decode {
public:
    Decode(std::vector<Byte> bytes, AtEnd end, DecoderState& state, DecodedText& out)
        : bytes_(std::move(bytes)), end_(end), state_(state), out_(out) {}

    template <class Function>
    void run(Function one) {
        while (at_ < bytes_.size()) {
            bool whole = (this->*one)();
            if (!whole && end_ == AtEnd::Hold) break;
            // "If byte is end-of-queue and lead is not 0x00, set lead to 0x00 and return error."
            if (!whole) fail(bytes_.size() - at_);
            if (out_.stopped()) at_ = bytes_.size();
        }
        WEFT_ASSERT(at_ <= bytes_.size(), "a character ends within the chunk");
        WEFT_ASSERT(bytes_.size() - at_ <= sizeof state_.pending,
                    "an incomplete character has at most four bytes");
        state_.pending_count = static_cast<Byte>(bytes_.size() - at_);
        std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), bytes_.end(), state_.pending);
    }

    bool gb18030();
    bool big5();
    bool euc_jp();
    bool iso_2022_jp();
    bool shift_jis();
    bool euc_kr();
    bool utf16_be() { return utf16(1, 0); }
    bool utf16_le() { return utf16(0, 1); }

private:
    Byte byte(std::size_t ahead) const { return bytes_[at_ + ahead]; }
    bool has(std::size_t count) const { return at_ + count <= bytes_.size(); }
    // Consumes a character of `count` bytes.
    bool take(std::size_t count, char32_t code) {
        at_ += count;
        out_.add(code);
        return true;
    }
    bool fail(std::size_t count) {
        at_ += count;
        out_.error();
        return true;
    }
    // Consumes two bytes: emits `code`, or if it is 0, an error that leaves an ASCII second byte to
    // be read again.
    bool take_pair(char32_t code) {
        if (code != 0) return take(2, code);
        return fail(byte(1) < 0x80 ? 1 : 2);
    }
    bool utf16(std::size_t low, std::size_t high);
    bool iso_2022_jp_escape();
    bool iso_2022_jp_pair();

    std::vector<Byte> bytes_;
    AtEnd end_;
    std::size_t at_ = 0;
    DecoderState& state_;
    DecodedText& out_;
};

// https://encoding.spec.whatwg.org/#gb18030-decoder
bool Decode::gb18030() {
    Byte first = byte(0);
    if (first < 0x80) return take(1, first);
    if (first == 0x80) return take(1, 0x20AC);
    if (first == 0xFF) return fail(1);
    if (!has(2)) return false;
    Byte second = byte(1);
    if (between(second, 0x30, 0x39)) {
        if (!has(3)) return false;
        if (!between(byte(2), 0x81, 0xFE)) return fail(1);
        if (!has(4)) return false;
        if (!between(byte(3), 0x30, 0x39)) return fail(1);
        std::uint32_t pointer = (first - 0x81u) * 12600 + (second - 0x30u) * 1260 +
                                (byte(2) - 0x81u) * 10 + (byte(3) - 0x30u);
        char32_t code = index_gb18030_ranges(pointer);
        return code == 0 ? fail(4) : take(4, code);
    }
    char32_t code = 0;
    if (between(second, 0x40, 0x7E) || between(second, 0x80, 0xFE)) {
        std::uint32_t offset = second < 0x7F ? 0x40 : 0x41;
        code = index_gb18030((first - 0x81u) * 190 + (second - offset));
    }
    return take_pair(code);
}

// https://encoding.spec.whatwg.org/#big5-decoder
bool Decode::big5() {
    Byte lead = byte(0);
    if (lead < 0x80) return take(1, lead);
    if (!between(lead, 0x81, 0xFE)) return fail(1);
    if (!has(2)) return false;
    Byte trail = byte(1);
    char32_t code = 0;
    if (between(trail, 0x40, 0x7E) || between(trail, 0xA1, 0xFE)) {
        std::uint32_t pointer = (lead - 0x81u) * 157 + (trail - (trail < 0x7F ? 0x40u : 0x62u));
        // "1133: U+00CA U+0304, 1135: U+00CA U+030C, 1164: U+00EA U+0304, 1166: U+00EA U+030C"
        if (pointer == 1133 || pointer == 1135 || pointer == 1164 || pointer == 1166) {
            out_.add(pointer < 1150 ? 0x00CA : 0x00EA);
            return take(2, pointer == 1133 || pointer == 1164 ? 0x0304 : 0x030C);
        }
        code = index_big5(pointer);
    }
    return take_pair(code);
}

// https://encoding.spec.whatwg.org/#euc-jp-decoder
bool Decode::euc_jp() {
    Byte lead = byte(0);
    if (lead < 0x80) return take(1, lead);
    if (lead != 0x8E && lead != 0x8F && !between(lead, 0xA1, 0xFE)) return fail(1);
    if (!has(2)) return false;
    Byte second = byte(1);
    if (lead == 0x8E && between(second, 0xA1, 0xDF)) return take(2, 0xFF61u - 0xA1 + second);
    if (lead == 0x8F && between(second, 0xA1, 0xFE)) {
        if (!has(3)) return false;
        Byte third = byte(2);
        char32_t code = 0;
        if (between(third, 0xA1, 0xFE)) code = index_jis0212((second - 0xA1u) * 94 + third - 0xA1u);
        if (code != 0) return take(3, code);
        return fail(third < 0x80 ? 2 : 3);
    }
    char32_t code = 0;
    if (between(lead, 0xA1, 0xFE) && between(second, 0xA1, 0xFE))
        code = index_jis0208((lead - 0xA1u) * 94 + second - 0xA1u);
    return take_pair(code);
}

// https://encoding.spec.whatwg.org/#shift_jis-decoder
bool Decode::shift_jis() {
    Byte lead = byte(0);
    if (lead <= 0x80) return take(1, lead);
    if (between(lead, 0xA1, 0xDF)) return take(1, 0xFF61u - 0xA1 + lead);
    if (!between(lead, 0x81, 0x9F) && !between(lead, 0xE0, 0xFC)) return fail(1);
    if (!has(2)) return false;
    Byte trail = byte(1);
    char32_t code = 0;
    if (between(trail, 0x40, 0x7E) || between(trail, 0x80, 0xFC)) {
        std::uint32_t offset = trail < 0x7F ? 0x40 : 0x41;
        std::uint32_t pointer = (lead - (lead < 0xA0 ? 0x81u : 0xC1u)) * 188 + trail - offset;
        code = between(lead, 0xF0, 0xF9) && pointer >= 8836 && pointer <= 10715
                   ? 0xE000 - 8836 + pointer
                   : index_jis0208(pointer);
    }
    return take_pair(code);
}

// https://encoding.spec.whatwg.org/#euc-kr-decoder
bool Decode::euc_kr() {
    Byte lead = byte(0);
    if (lead < 0x80) return take(1, lead);
    if (!between(lead, 0x81, 0xFE)) return fail(1);
    if (!has(2)) return false;
    char32_t code = 0;
    if (between(byte(1), 0x41, 0xFE)) code = index_euc_kr((lead - 0x81u) * 190 + (byte(1) - 0x41u));
    return take_pair(code);
}

// https://encoding.spec.whatwg.org/#shared-utf-16-decoder
bool Decode::utf16(std::size_t low, std::size_t high) {
    if (!has(2)) return false;
    auto unit = [&](std::size_t from) {
        return static_cast<char32_t>(byte(from + high) << 8 | byte(from + low));
    };
    char32_t first = unit(0);
    if (first < 0xD800 || first > 0xDFFF) return take(2, first);
    if (first >= 0xDC00) return fail(2);
    if (!has(4)) return false;
    char32_t second = unit(2);
    if (second < 0xDC00 || second > 0xDFFF) return fail(2);
    return take(4, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
}

// ---- https://encoding.spec.whatwg.org/#iso-2022-jp-decoder
// state.mode is "decoder output state" while no escape sequence is read; state.flag is the
// standard's "ISO-2022-JP output".
enum Mode : Byte { kAscii, kRoman, kKatakana, kJis0208 };

bool Decode::iso_2022_jp_escape() {
    // At the end of the text the bytes after the escape character are read again, as after any
    // other invalid sequence.
    bool more = end_ == AtEnd::Hold;
    if (!has(2) && more) return false;
    Byte second = has(2) ? byte(1) : 0;
    if (second == 0x24 || second == 0x28) {
        if (!has(3) && more) return false;
        Byte third = has(3) ? byte(2) : 0;
        int mode = -1;
        if (second == 0x28 && third == 0x42) mode = kAscii;
        if (second == 0x28 && third == 0x4A) mode = kRoman;
        if (second == 0x28 && third == 0x49) mode = kKatakana;
        if (second == 0x24 && (third == 0x40 || third == 0x42)) mode = kJis0208;
        if (mode >= 0) {
            state_.mode = static_cast<Byte>(mode);
            at_ += 3;
            // "If output is false, set it to true and continue; otherwise return error": two escape
            // sequences with nothing between them.
            bool twice = state_.flag != 0;
            state_.flag = 1;
            if (twice) out_.error();
            return true;
        }
    }
    state_.flag = 0;
    return fail(1);
}

bool Decode::iso_2022_jp_pair() {
    Byte lead = byte(0);
    if (!between(lead, 0x21, 0x7E)) return fail(1);
    if (!has(2)) return false;
    Byte trail = byte(1);
    if (trail == 0x1B) return fail(1);
    if (!between(trail, 0x21, 0x7E)) return fail(2);
    char32_t code = index_jis0208((lead - 0x21u) * 94 + trail - 0x21u);
    return code == 0 ? fail(2) : take(2, code);
}

bool Decode::iso_2022_jp() {
    Byte lead = byte(0);
    if (lead == 0x1B) return iso_2022_jp_escape();
    state_.flag = 0;
    switch (state_.mode) {
    case kKatakana: return between(lead, 0x21, 0x5F) ? take(1, 0xFF61u - 0x21 + lead) : fail(1);
    case kJis0208: return iso_2022_jp_pair();
    default:
        if (lead >= 0x80 || lead == 0x0E || lead == 0x0F) return fail(1);
        if (state_.mode == kRoman && lead == 0x5C) return take(1, 0xA5);
        if (state_.mode == kRoman && lead == 0x7E) return take(1, 0x203E);
        return take(1, lead);
    }
}

void decode_single_byte(const SingleByteIndex& index, Bytes input, DecodedText& out) {
    for (std::byte value : input) {
        auto byte = static_cast<Byte>(value);
        char16_t code = byte < 0x80 ? byte : index[byte - 0x80];
        if (code == 0 && byte != 0)
            out.error();
        else
            out.text() += code;
    }
}

}  // namespace

void decode_legacy(Encoding encoding, Bytes input, AtEnd end, DecoderState& state,
                   DecodedText& out) {
    if (encoding >= Encoding::Ibm866 && encoding <= Encoding::XMacCyrillic)
        return decode_single_byte(single_byte_index(encoding), input, out);
    if (encoding == Encoding::XUserDefined) {
        for (std::byte value : input) {
            auto byte = static_cast<Byte>(value);
            out.add(byte < 0x80 ? byte : 0xF780u + byte - 0x80);
        }
        return;
    }
    // https://encoding.spec.whatwg.org/#replacement-decoder
    if (encoding == Encoding::Replacement) {
        if (!input.empty() && state.flag == 0) out.error();
        if (!input.empty()) state.flag = 1;
        return;
    }
    std::vector<Byte> bytes(state.pending, state.pending + state.pending_count);
    for (std::byte value : input) bytes.push_back(static_cast<Byte>(value));
    Decode decode(std::move(bytes), end, state, out);
    switch (encoding) {
    case Encoding::Gbk:
    case Encoding::Gb18030: return decode.run(&Decode::gb18030);
    case Encoding::Big5: return decode.run(&Decode::big5);
    case Encoding::EucJp: return decode.run(&Decode::euc_jp);
    case Encoding::Iso2022Jp: return decode.run(&Decode::iso_2022_jp);
    case Encoding::ShiftJis: return decode.run(&Decode::shift_jis);
    case Encoding::EucKr: return decode.run(&Decode::euc_kr);
    case Encoding::Utf16Be: return decode.run(&Decode::utf16_be);
    default: return decode.run(&Decode::utf16_le);
    }
}

}  // namespace weft::api
