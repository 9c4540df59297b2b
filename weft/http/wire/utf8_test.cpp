#include "weft/http/wire/utf8.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace weft::http::wire {
namespace {

// How many bytes of the text pass when they come one by one.
std::size_t passed(std::string_view text) {
    Utf8Validator validator;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!validator.add(text.substr(i, 1))) return i;
    }
    return text.size();
}

TEST(Utf8, HTTP_6b_a_wrong_byte_is_seen_as_soon_as_it_comes) {
    EXPECT_EQ(passed("a\x80"), 1);
    EXPECT_EQ(passed("\xc0\x80"), 0);
    EXPECT_EQ(passed("\xc1\xbf"), 0);
    EXPECT_EQ(passed("\xe0\x9f\xbf"), 1);
    EXPECT_EQ(passed("\xed\xa0\x80"), 1);  // a surrogate
    EXPECT_EQ(passed("\xf0\x8f\xbf\xbf"), 1);
    EXPECT_EQ(passed("\xf4\x90\x80\x80"), 1);  // U+110000
    EXPECT_EQ(passed("\xf5\x80\x80\x80"), 0);
    EXPECT_EQ(passed("\xfe"), 0);
    EXPECT_EQ(passed("\xff"), 0);
    EXPECT_EQ(passed("\xc3("), 1);
    EXPECT_EQ(passed("\xe2\x82("), 2);
    EXPECT_EQ(passed("\xf0\x9f\x98("), 3);
    EXPECT_EQ(passed("\xe2\x82\xe2\x82\xac"), 2);
}

TEST(Utf8, HTTP_6b_the_ends_of_every_range_are_characters) {
    for (std::string_view text :
         {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xef\xbb\xbf"}) {
        EXPECT_TRUE(is_utf8(text));
        EXPECT_EQ(passed(text), text.size());
        for (std::size_t size = 1; size < text.size(); ++size) {
            EXPECT_FALSE(is_utf8(text.substr(0, size)));
        }
    }
    EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, HTTP_6b_a_wrong_byte_is_seen_wherever_it_stands_in_a_long_text) {
    std::string text(100, 'x');
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = '\x80';
        EXPECT_FALSE(is_utf8(text));
        text[i] = 'x';
        std::string with = text;
        with.insert(i, "\xf0\x9f\x98\x80");
        EXPECT_TRUE(is_utf8(with));
    }
    Utf8Validator validator;
    EXPECT_FALSE(validator.add("\xff"));
    EXPECT_FALSE(validator.add("and never again"));
    validator.reset();
    EXPECT_TRUE(validator.add("but now"));
}

TEST(Utf8, HTTP_6a_each_maximal_part_of_a_wrong_character_is_replaced_once) {
    auto replaced = [](std::string_view text) {
        std::string out;
        append_with_replacement(out, text);
        return out;
    };
    EXPECT_EQ(replaced("ok \xc3\xa4"), "ok \xc3\xa4");
    EXPECT_EQ(replaced("a\xff\xfe"), "a\uFFFD\uFFFD");
    EXPECT_EQ(replaced("\xf0\x9f\x98"), "\uFFFD");
    EXPECT_EQ(replaced("\xf0\x9f\x98x"), "\uFFFDx");
    EXPECT_EQ(replaced("\xe0\x80\x80"), "\uFFFD\uFFFD\uFFFD");
    EXPECT_EQ(replaced("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
    EXPECT_EQ(replaced("\xe2\x82\xe2\x82\xac"), "\uFFFD\u20AC");
}

}  // namespace
}  // namespace weft::http::wire
