#include "weft/api/encoding/index.h"

#include <unicode/ucnv.h>
#include <unicode/utf16.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "weft/api/encoding/index_corrections.h"
#include "weft/base/assert.h"

namespace weft::api {

namespace {

// Wraps one of ICU's converters, which maps a sequence of bytes to a character.
class Converter {
public:
    explicit Converter(const char* name) {
        UErrorCode error = U_ZERO_ERROR;
        converter_.reset(ucnv_open(name, &error));
        if (U_FAILURE(error)) converter_.reset();
        if (!converter_) return;
        ucnv_setToUCallBack(converter_.get(), UCNV_TO_U_CALLBACK_STOP, nullptr, nullptr, nullptr,
                            &error);
    }

    // Returns 0 if the bytes are not exactly one character.
    char32_t character(std::initializer_list<std::uint8_t> bytes) const {
        if (!converter_) return 0;
        char input[4];
        std::int32_t length = 0;
        for (std::uint8_t byte : bytes) input[length++] = static_cast<char>(byte);
        char16_t output[8];
        UErrorCode error = U_ZERO_ERROR;
        std::int32_t count = ucnv_toUChars(converter_.get(), output, 8, input, length, &error);
        if (U_FAILURE(error) || count == 0) return 0;
        if (count == 1) return output[0];
        if (count == 2 && U16_IS_LEAD(output[0])) {
            return static_cast<char32_t>(U16_GET_SUPPLEMENTARY(output[0], output[1]));
        }
        return 0;
    }

private:
    struct Close {
        void operator()(UConverter* converter) const { ucnv_close(converter); }
    };
    std::unique_ptr<UConverter, Close> converter_;
};

using Index = std::vector<char32_t>;

char32_t at(const Index& index, std::uint32_t pointer) {
    return pointer < index.size() ? index[pointer] : 0;
}

template <class Table>
void correct(Table& index, std::span<const IndexCorrection> corrections) {
    for (const IndexCorrection& correction : corrections)
        for (std::uint32_t at = correction.first; at <= correction.last; ++at)
            index[at] = static_cast<typename Table::value_type>(
                correction.code == 0 ? 0 : correction.code + (at - correction.first));
}

std::span<const IndexCorrection> corrections_of(Encoding encoding) {
    switch (encoding) {
    case Encoding::Iso16: return kIso16;
    case Encoding::Koi8U: return kKoi8U;
    case Encoding::Windows874: return kWindows874;
    case Encoding::Windows1253: return kWindows1253;
    case Encoding::Windows1255: return kWindows1255;
    default: return {};
    }
}

constexpr const char* kSingleByteNames[] = {
    "ibm-866",      "iso-8859-2",   "iso-8859-3",     "iso-8859-4",   "iso-8859-5",
    "iso-8859-6",   "iso-8859-7",   "iso-8859-8",     "iso-8859-8",   "iso-8859-10",
    "iso-8859-13",  "iso-8859-14",  "iso-8859-15",    "iso-8859-1",   "koi8-r",
    "koi8-u",       "macintosh",    "windows-874",    "windows-1250", "windows-1251",
    "windows-1252", "windows-1253", "windows-1254",   "windows-1255", "windows-1256",
    "windows-1257", "windows-1258", "x-mac-cyrillic",
};
constexpr std::size_t kSingleByteCount = std::size(kSingleByteNames);

SingleByteIndex make_single_byte_index(std::size_t which) {
    Converter converter(kSingleByteNames[which]);
    SingleByteIndex index{};
    for (unsigned byte = 0; byte < 128; ++byte) {
        auto whole = static_cast<std::uint8_t>(byte + 0x80);
        char32_t code = converter.character({whole});
        index[byte] = static_cast<char16_t>(code == 0xFFFD ? 0 : code);
    }
    correct(index, corrections_of(
                       static_cast<Encoding>(which + static_cast<std::size_t>(Encoding::Ibm866))));
    return index;
}

Index make_gb18030() {
    Converter converter("gb18030");
    Index index(126 * 190);
    for (std::uint32_t pointer = 0; pointer < index.size(); ++pointer) {
        std::uint32_t trail = pointer % 190;
        index[pointer] =
            converter.character({static_cast<std::uint8_t>(pointer / 190 + 0x81),
                                 static_cast<std::uint8_t>(trail + (trail < 0x3F ? 0x40 : 0x41))});
    }
    correct(index, kGb18030);
    return index;
}

Index make_big5() {
    Converter converter("big5-hkscs");
    Index index(126 * 157);
    for (std::uint32_t pointer = 0; pointer < index.size(); ++pointer) {
        std::uint32_t trail = pointer % 157;
        index[pointer] =
            converter.character({static_cast<std::uint8_t>(pointer / 157 + 0x81),
                                 static_cast<std::uint8_t>(trail + (trail < 0x3F ? 0x40 : 0x62))});
    }
    correct(index, kBig5);
    return index;
}

// Maps JIS through Shift_JIS, each of whose rows holds two rows of JIS.
Index make_jis0208() {
    Converter converter("ibm-943_P15A-2003");
    Index index(94 * 120);
    for (std::uint32_t pointer = 0; pointer < index.size(); ++pointer) {
        std::uint32_t lead = pointer / 188, trail = pointer % 188;
        index[pointer] =
            converter.character({static_cast<std::uint8_t>(lead + (lead < 0x1F ? 0x81 : 0xC1)),
                                 static_cast<std::uint8_t>(trail + (trail < 0x3F ? 0x40 : 0x41))});
    }
    return index;
}

Index make_jis0212() {
    Converter converter("euc-jp");
    Index index(94 * 94);
    for (std::uint32_t pointer = 0; pointer < index.size(); ++pointer)
        index[pointer] = converter.character({0x8F, static_cast<std::uint8_t>(pointer / 94 + 0xA1),
                                              static_cast<std::uint8_t>(pointer % 94 + 0xA1)});
    correct(index, kJis0212);
    return index;
}

Index make_euc_kr() {
    Converter converter("windows-949");
    Index index(126 * 190);
    for (std::uint32_t pointer = 0; pointer < index.size(); ++pointer)
        index[pointer] = converter.character({static_cast<std::uint8_t>(pointer / 190 + 0x81),
                                              static_cast<std::uint8_t>(pointer % 190 + 0x41)});
    correct(index, kEucKr);
    return index;
}

}  // namespace

const SingleByteIndex& single_byte_index(Encoding encoding) {
    auto which = static_cast<std::size_t>(encoding) - static_cast<std::size_t>(Encoding::Ibm866);
    WEFT_ASSERT(which < kSingleByteCount, "a single-byte encoding");
    static const std::vector<SingleByteIndex> indexes = [] {
        std::vector<SingleByteIndex> made;
        for (std::size_t at = 0; at < kSingleByteCount; ++at)
            made.push_back(make_single_byte_index(at));
        return made;
    }();
    return indexes[which];
}

char32_t index_gb18030(std::uint32_t pointer) {
    static const Index index = make_gb18030();
    return at(index, pointer);
}

// https://encoding.spec.whatwg.org/#index-gb18030-ranges-code-point
char32_t index_gb18030_ranges(std::uint32_t pointer) {
    if ((pointer > 39419 && pointer < 189000) || pointer > 1237575) return 0;
    if (pointer == 7457) return 0xE7C7;
    if (pointer >= 189000) return 0x10000 + (pointer - 189000);
    static const Converter converter("gb18030");
    return converter.character({static_cast<std::uint8_t>(pointer / 12600 + 0x81),
                                static_cast<std::uint8_t>(pointer / 1260 % 10 + 0x30),
                                static_cast<std::uint8_t>(pointer / 10 % 126 + 0x81),
                                static_cast<std::uint8_t>(pointer % 10 + 0x30)});
}

char32_t index_big5(std::uint32_t pointer) {
    static const Index index = make_big5();
    return at(index, pointer);
}

char32_t index_jis0208(std::uint32_t pointer) {
    static const Index index = make_jis0208();
    return at(index, pointer);
}

char32_t index_jis0212(std::uint32_t pointer) {
    static const Index index = make_jis0212();
    return at(index, pointer);
}

char32_t index_euc_kr(std::uint32_t pointer) {
    static const Index index = make_euc_kr();
    return at(index, pointer);
}

}  // namespace weft::api
