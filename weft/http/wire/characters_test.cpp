#include "weft/http/wire/characters.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::http::wire {
namespace {

// Every byte at every place of texts of many lengths: in whole blocks, in the rest, behind the end.
template <class Skip>
void expect_as_by_table(Class which, Skip skip_fast) {
    for (std::size_t size = 0; size <= 40; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            for (unsigned byte = 0; byte < 256; ++byte) {
                std::string text(size, 'a');
                text[at] = static_cast<char>(byte);
                const char* end = text.data() + size;
                ASSERT_EQ(skip_fast(text.data(), end), skip(which, text.data(), end))
                    << size << ' ' << at << ' ' << byte;
            }
        }
    }
}

TEST(Characters, HTTP_1_blocks_are_searched_as_single_bytes_are) {
    expect_as_by_table(Class::FieldValue, skip_field_value);
    expect_as_by_table(Class::Target, skip_target);
    expect_as_by_table(Class::PlainPath, skip_plain_path);
    expect_as_by_table(Class::Token, skip_token);
}

TEST(Characters, HTTP_1_what_is_usual_is_of_its_class) {
    for (std::size_t size = 0; size <= 40; ++size) {
        EXPECT_EQ(is_usual_name(std::string(size, 'a')), size >= 8) << size;
        for (std::size_t at = 0; at < size; ++at) {
            for (unsigned byte = 0; byte < 256; ++byte) {
                std::string text(size, 'a');
                text[at] = static_cast<char>(byte);
                if (is_usual_name(text)) {
                    ASSERT_TRUE(consists_of(Class::Token, text)) << byte;
                    ASSERT_TRUE(consists_of(Class::RegName, text)) << byte;
                }
                if (is_usual_value(text)) {
                    ASSERT_TRUE(consists_of(Class::FieldValue, text)) << byte;
                }
            }
        }
    }
}

TEST(Characters, HTTP_1_the_first_of_several_is_found) {
    std::string text = std::string(20, 'a') + "\r\n\r\n" + std::string(20, 'a');
    const char* end = text.data() + text.size();
    EXPECT_EQ(skip_field_value(text.data(), end) - text.data(), 20);
    EXPECT_EQ(skip_target(text.data(), end) - text.data(), 20);
}

TEST(Characters, HTTP_1_blanks_are_trimmed) {
    EXPECT_EQ(trim_blanks(" \ta b\t "), "a b");
    EXPECT_EQ(trim_blanks(" \t"), "");
    EXPECT_EQ(trim_blanks(""), "");
}

}  // namespace
}  // namespace weft::http::wire
