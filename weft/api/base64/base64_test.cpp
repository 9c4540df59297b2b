#include "weft/api/base64/base64.h"

#include <gtest/gtest.h>

namespace weft::api {
namespace {

TEST(Base64, JS_9_btoa_pads_to_four_digits) {
    EXPECT_EQ(base64_encode(""), "");
    EXPECT_EQ(base64_encode("a"), "YQ==");
    EXPECT_EQ(base64_encode("ab"), "YWI=");
    EXPECT_EQ(base64_encode("abc"), "YWJj");
    EXPECT_EQ(base64_encode("\xff\xfe\xfd"), "//79");
}

TEST(Base64, JS_9_atob_forgives_white_space_and_missing_padding) {
    EXPECT_EQ(base64_decode(" Y\tW\nI\f= \r"), "ab");
    EXPECT_EQ(base64_decode("YQ"), "a");
    EXPECT_EQ(base64_decode("YWI"), "ab");
    EXPECT_EQ(base64_decode(""), "");
}

TEST(Base64, JS_9_atob_refuses_what_is_none) {
    for (const char* bad : {"A", "YQ=", "YQ===", "=", "====", "Y=Q=", "YWJj=", "Y-_=", "YWJjY",
                            "YQ==YQ==", "YW\x0bI="})
        EXPECT_FALSE(base64_decode(bad)) << bad;
}

TEST(Base64, JS_10_a_large_text_survives_the_round_trip) {
    std::string text(50'000, '\0');
    for (std::size_t at = 0; at < text.size(); ++at)
        text[at] = static_cast<char>(at * 7 + at / 256);
    EXPECT_EQ(base64_decode(base64_encode(text)), text);
}

}  // namespace
}  // namespace weft::api
