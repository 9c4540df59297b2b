#include <gtest/gtest.h>

#include <string>

#include "weft/api/encoding/legacy.h"
#include "weft/api/encoding/utf8.h"

namespace weft::api {
namespace {

constexpr bool kFatal = true;

std::u16string decoded(Encoding encoding, std::string_view bytes) {
    DecoderState state;
    DecodedText out(!kFatal);
    decode_legacy(encoding, as_bytes(bytes), AtEnd::Flush, state, out);
    return out.text();
}

// Decodes the same text in chunks of one byte.
std::u16string decoded_by_bytes(Encoding encoding, std::string_view bytes) {
    DecoderState state;
    DecodedText out(!kFatal);
    for (char c : bytes)
        decode_legacy(encoding, as_bytes(std::string_view(&c, 1)), AtEnd::Hold, state, out);
    decode_legacy(encoding, {}, AtEnd::Flush, state, out);
    return out.text();
}

TEST(Utf8, JS_9_TextDecoder_tells_valid_from_invalid) {
    for (std::string_view good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                  "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(as_bytes(good))) << good;
    for (std::string_view bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80", "\xf5", "a\xffz", "\xe2\x82"})
        EXPECT_FALSE(is_utf8(as_bytes(bad))) << bad;
}

TEST(Utf8, JS_9_TextDecoder_holds_back_what_may_become_a_character) {
    EXPECT_EQ(incomplete_tail(as_bytes("abc\xe2\x82")), 2u);
    EXPECT_EQ(incomplete_tail(as_bytes("abc\xf0\x9f\x98")), 3u);
    EXPECT_EQ(incomplete_tail(as_bytes("abc\xc3")), 1u);
    EXPECT_EQ(incomplete_tail(as_bytes("abc\xe2\x82\xac")), 0u);
    // These bytes can never become a valid sequence.
    EXPECT_EQ(incomplete_tail(as_bytes("abc\xed\xa0")), 0u);
    EXPECT_EQ(incomplete_tail(as_bytes("abc\x82")), 0u);
}

TEST(Legacy, JS_9_TextDecoder_single_bytes) {
    EXPECT_EQ(decoded(Encoding::Windows1252, "\x80\xe9\x81"), u"\u20AC\u00E9\u0081");
    EXPECT_EQ(decoded(Encoding::Windows1253, "\xaa"), u"\uFFFD");
    EXPECT_EQ(decoded(Encoding::Koi8U, "\xae"), u"\u045E");
    EXPECT_EQ(decoded(Encoding::Iso16, "\xa4\x80"), u"\u20AC\u0080");
    EXPECT_EQ(decoded(Encoding::XUserDefined, "a\x80\xff"), u"a\uF780\uF7FF");
}

TEST(Legacy, JS_9_TextDecoder_two_bytes_and_an_ascii_trail_that_is_read_again) {
    EXPECT_EQ(decoded(Encoding::ShiftJis, "\x82\xa0\xb1"), u"\u3042\uFF71");
    EXPECT_EQ(decoded(Encoding::EucJp, "\xa4\xa2\x8e\xb1\x8f\xb0\xa1"), u"\u3042\uFF71\u4E02");
    EXPECT_EQ(decoded(Encoding::EucKr, "\xb0\xa1"), u"\uAC00");
    EXPECT_EQ(decoded(Encoding::Big5, "\xa4\x40\x88\x62"), u"\u4E00\u00CA\u0304");
    EXPECT_EQ(decoded(Encoding::Big5, "\x81@"), u"\uFFFD@");
    EXPECT_EQ(decoded(Encoding::Gbk, "\x81"), u"\uFFFD");
}

TEST(Legacy, JS_9_TextDecoder_four_bytes_of_gb18030) {
    EXPECT_EQ(decoded(Encoding::Gb18030, "\x81\x35\xf4\x37"), u"\uE7C7");
    EXPECT_EQ(decoded(Encoding::Gb18030, "\x90\x30\x81\x30"), u"\U00010000");
    EXPECT_EQ(decoded(Encoding::Gb18030, "\xa6\xd9"), u"\uFE10");
    EXPECT_EQ(decoded(Encoding::Gb18030, "\x81\x30\x41"), u"\uFFFD0A");
}

TEST(Legacy, JS_9_TextDecoder_escape_sequences_of_iso_2022_jp) {
    EXPECT_EQ(decoded(Encoding::Iso2022Jp, "A\x1b$B$\"\x1b(BZ"), u"A\u3042Z");
    EXPECT_EQ(decoded(Encoding::Iso2022Jp, "\x1b(J\\~"), u"\u00A5\u203E");
    EXPECT_EQ(decoded(Encoding::Iso2022Jp, "\x1b$"), u"\uFFFD$");
}

TEST(Legacy, JS_9_TextDecoder_lone_surrogates_of_utf_16) {
    using namespace std::string_view_literals;
    EXPECT_EQ(decoded(Encoding::Utf16Le, "\x3d\xd8\x00\xde"sv), u"\U0001F600");
    EXPECT_EQ(decoded(Encoding::Utf16Be, "\xd8\x3d\x00\x41"sv), u"\uFFFDA");
    EXPECT_EQ(decoded(Encoding::Utf16Le, "\x41\x00\x42"sv), u"A\uFFFD");
}

TEST(Legacy, JS_9_TextDecoder_chunks_do_not_change_the_text) {
    struct Case {
        Encoding encoding;
        std::string_view bytes;
    };
    for (const Case& c :
         {Case{Encoding::ShiftJis, "\x82\xa0z\x82"},
          Case{Encoding::Gb18030, "\x81\x35\xf4\x37\x90\x30\x81\x30\x81"},
          Case{Encoding::Iso2022Jp, "A\x1b$B$\"\x1b(BZ\x1b("},
          Case{Encoding::EucJp, "\x8f\xb0\xa1\x8f"}, Case{Encoding::Utf16Le, "\x3d\xd8\x41"}})
        EXPECT_EQ(decoded_by_bytes(c.encoding, c.bytes), decoded(c.encoding, c.bytes)) << c.bytes;
}

TEST(Legacy, JS_9_TextDecoder_a_fatal_decoder_stops_and_forgets_the_bytes) {
    DecoderState state;
    DecodedText out(kFatal);
    decode_legacy(Encoding::Big5, as_bytes("\x81@\xa4"), AtEnd::Hold, state, out);
    EXPECT_TRUE(out.stopped());
    EXPECT_EQ(state.pending_count, 0);
}

}  // namespace
}  // namespace weft::api
