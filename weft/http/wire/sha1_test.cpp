#include "weft/http/wire/sha1.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weft::http::wire {
namespace {

std::string hexadecimal(std::string_view text) {
    std::string digits;
    auto digest = sha1(as_bytes(text)).value();
    for (std::byte byte : digest) {
        digits += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
        digits += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    return digits;
}

TEST(Sha1, HTTP_6b_gives_the_digests_of_the_standard) {
    EXPECT_EQ(hexadecimal(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(hexadecimal("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(hexadecimal("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(hexadecimal(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Sha1, HTTP_6b_pads_texts_of_every_length_around_a_block) {
    std::string sum;
    for (std::size_t size = 0; size <= 130; ++size) sum += hexadecimal(std::string(size, 'x'));
    EXPECT_EQ(hexadecimal(sum), "264556ac95806d1e869b3f1fad8691f6633bcdfa");
}

}  // namespace
}  // namespace weft::http::wire
