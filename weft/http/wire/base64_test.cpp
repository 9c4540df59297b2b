#include "weft/http/wire/base64.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace weft::http::wire {
namespace {

TEST(Base64, HTTP_6b_what_base64_would_not_have_written_is_refused) {
    for (std::string_view text : {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9",
                                  "Zm9v\n", "=Zg=", "====", "Zm-_", "Z=g=", "\xff\xff\xff\xff"}) {
        EXPECT_FALSE(base64_decode(text)) << text;
    }
}

TEST(Base64, HTTP_6b_the_examples_of_the_standard_come_back) {  // RFC 4648 §10
    const std::pair<std::string_view, std::string_view> examples[] = {{"", ""},
                                                                      {"f", "Zg=="},
                                                                      {"fo", "Zm8="},
                                                                      {"foo", "Zm9v"},
                                                                      {"foob", "Zm9vYg=="},
                                                                      {"fooba", "Zm9vYmE="},
                                                                      {"foobar", "Zm9vYmFy"},
                                                                      {"\xff\xef", "/+8="}};
    for (auto [bytes, text] : examples) {
        EXPECT_EQ(base64_encode(as_bytes(bytes)), text);
        EXPECT_EQ(base64_decode(text), bytes);
    }
}

}  // namespace
}  // namespace weft::http::wire
