#include "weft/http/wire/content_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft::http::wire {
namespace {

constexpr std::array kCodings = {Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd};
constexpr std::size_t kMiB = 1024 * 1024;

std::string encode(Coding coding, std::string_view text, std::optional<int> level = {},
                   Until until = Until::Finished) {
    auto encoder = Encoder::create(coding, level);
    EXPECT_TRUE(encoder);
    std::string out;
    std::array<std::byte, 4096> space;
    for (Bytes bytes = as_bytes(text);;) {
        auto step = encoder->encode(bytes, space, until);
        EXPECT_TRUE(step);
        out += as_text(Bytes(space).first(step->made));
        bytes = bytes.subspan(step->used);
        if (step->done) return out;
    }
}

struct Chunks {
    std::size_t bytes = 1 << 20;  // given at once
    std::size_t space = 64 * 1024;
};

Result<std::string> decode(Coding coding, std::string_view text, const DecoderLimits& limits = {},
                           Chunks chunks = {}) {
    auto decoder = WEFT_TRY(Decoder::create(coding, limits));
    std::string out;
    std::vector<std::byte> space(chunks.space);
    while (!text.empty()) {
        std::string_view part = text.substr(0, chunks.bytes);
        text.remove_prefix(part.size());
        for (;;) {
            auto step = WEFT_TRY(decoder.decode(as_bytes(part), space));
            out += as_text(Bytes(space).first(step.made));
            part.remove_prefix(step.used);
            if (part.empty() && step.made < space.size()) break;
            if (step.used == 0 && step.made == 0) return Error(ErrorKind::Misuse, "it stands");
        }
    }
    WEFT_TRY(decoder.finish());
    return out;
}

template <class T>
std::string failure(const Result<T>& result) {
    if (result) return "success";
    return std::string(to_string(result.error().kind())) + ": " + result.error().message();
}

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? ErrorKind::Misuse : result.error().kind();
}

// Text that compresses, but not by much.
std::string words(std::size_t bytes) {
    std::string text;
    std::uint32_t state = 1;
    while (text.size() < bytes) {
        state = state * 1664525 + 1013904223;
        text += "word" + std::to_string(state >> 20) + ' ';
    }
    text.resize(bytes);
    return text;
}

TEST(ContentDecoder, HTTP_5_content_larger_than_its_limit_is_refused) {
    std::string text = words(100'000);
    for (Coding coding : kCodings) {
        std::string encoded = encode(coding, text);
        EXPECT_EQ(decode(coding, encoded, {.content_bytes = 100'000}), text);
        auto refused = decode(coding, encoded, {.content_bytes = 99'999});
        EXPECT_EQ(failure(refused),
                  "limit reached: the decoded content has more bytes than 99999 "
                  "(DecoderLimits::content_bytes)");
        EXPECT_EQ(kind_of(decode(coding, encoded, {.content_bytes = 0})), ErrorKind::Limit);
        EXPECT_EQ(kind_of(decode(coding, encoded, {.content_bytes = 99'999}, {1, 1})),
                  ErrorKind::Limit);
    }
}

TEST(ContentDecoder, HTTP_5_a_ratio_of_0_refuses_what_is_beyond_its_first_bytes) {
    for (Coding coding : kCodings) {
        std::string encoded = encode(coding, std::string(2000, 'x'));
        EXPECT_TRUE(decode(coding, encoded, {.ratio = 0, .ratio_from_bytes = 2000}));
        EXPECT_EQ(kind_of(decode(coding, encoded, {.ratio = 0, .ratio_from_bytes = 1999})),
                  ErrorKind::Limit);
    }
}

TEST(ContentDecoder, HTTP_5_a_bomb_is_refused_by_its_ratio_after_the_first_mebibyte) {
    std::string zeros(8 * kMiB, '\0');
    for (Coding coding : kCodings) {
        std::string bomb = encode(coding, zeros);
        ASSERT_LT(bomb.size() * 100, zeros.size());
        auto decoder = Decoder::create(coding, {.content_bytes = 64 * kMiB});
        ASSERT_TRUE(decoder);
        std::vector<std::byte> space(64 * 1024);
        std::size_t made = 0;
        Bytes bytes = as_bytes(bomb);
        for (;;) {
            auto step = decoder->decode(bytes, space);
            if (!step) {
                EXPECT_EQ(step.error().kind(), ErrorKind::Limit);
                break;
            }
            bytes = bytes.subspan(step->used);
            made += step->made;
            ASSERT_LT(made, zeros.size());
        }
        EXPECT_GT(made, kMiB - 2 * space.size());
        // Nothing is said of less than a mebibyte, however well it is compressed.
        EXPECT_TRUE(decode(coding, encode(coding, zeros.substr(0, kMiB))));
    }
}

TEST(ContentDecoder, HTTP_5_content_that_is_cut_off_anywhere_is_an_error) {
    std::string text = words(300);
    for (Coding coding : kCodings) {
        std::string encoded = encode(coding, text);
        for (std::size_t size = 1; size < encoded.size(); ++size) {
            auto result = decode(coding, std::string_view(encoded).substr(0, size));
            EXPECT_EQ(failure(result), "other error: the encoded content is cut off")
                << to_string(coding) << ' ' << size;
        }
        EXPECT_EQ(decode(coding, ""), "");
    }
}

TEST(ContentDecoder, HTTP_5_bytes_behind_the_end_are_an_error) {
    for (Coding coding : kCodings) {
        for (const std::string& tail : {std::string("x"), std::string(4, 0)}) {
            std::string encoded = encode(coding, "text") + tail;
            EXPECT_EQ(kind_of(decode(coding, encoded)), ErrorKind::Other);
            EXPECT_EQ(kind_of(decode(coding, encoded, {}, {1, 1})), ErrorKind::Other);
        }
    }
}

TEST(ContentDecoder, HTTP_5_corrupt_content_is_an_error_that_says_what_is_wrong) {
    for (Coding coding : kCodings) {
        auto result = decode(coding, "\xffgarbage that is nothing at all");
        EXPECT_THAT(failure(result), ::testing::StartsWith("other error: corrupt " +
                                                           std::string(to_string(coding))));
    }
    // The checksum of gzip and of deflate, and the length of gzip.
    std::string gzip = encode(Coding::Gzip, "text");
    gzip[gzip.size() - 8] ^= 1;
    EXPECT_EQ(failure(decode(Coding::Gzip, gzip)),
              "other error: corrupt gzip content: incorrect data check");
    gzip[gzip.size() - 8] ^= 1;
    gzip[gzip.size() - 1] ^= 1;
    EXPECT_EQ(failure(decode(Coding::Gzip, gzip)),
              "other error: corrupt gzip content: incorrect length check");
    std::string deflate = encode(Coding::Deflate, "text");
    deflate.back() ^= 1;
    EXPECT_EQ(kind_of(decode(Coding::Deflate, deflate)), ErrorKind::Other);
    // A preset dictionary, which HTTP has no way to name.
    EXPECT_EQ(failure(decode(Coding::Deflate, std::string_view("\x78\xbb\0\0\0\1", 6))),
              "other error: corrupt deflate content: needs a dictionary");
}

TEST(ContentDecoder, HTTP_5_NET_3b_a_window_above_eight_mebibytes_is_refused) {
    // A frame with a window descriptor (RFC 8878 §3.1.1.1.2) and one empty last raw block.
    auto frame = [](char descriptor) {
        return std::string("\x28\xb5\x2f\xfd\0", 5) + descriptor + std::string("\1\0\0", 3);
    };
    EXPECT_EQ(decode(Coding::Zstd, frame(13 << 3)), "");
    EXPECT_EQ(failure(decode(Coding::Zstd, frame(14 << 3))),
              "limit reached: zstd content asks for a window of more bytes than 8388608 "
              "(RFC 9659 §3)");
    // Brotli's large window (0x11 in the first bits) is no part of RFC 7932.
    EXPECT_EQ(kind_of(decode(Coding::Brotli, std::string_view("\x11\x1e\x03", 3))),
              ErrorKind::Other);
}

TEST(ContentDecoder, HTTP_5_frames_of_zstd_before_its_standard_are_refused) {
    EXPECT_EQ(failure(decode(Coding::Zstd, std::string_view("\x27\xb5\x2f\xfd\0\0\0\0", 8))),
              "other error: corrupt zstd content: not a frame");
}

TEST(ContentDecoder, HTTP_5_every_coding_comes_back_in_parts_of_any_size) {
    std::string text = words(20'000) + std::string(20'000, 'x');
    for (Coding coding : kCodings) {
        std::string encoded = encode(coding, text);
        EXPECT_LT(encoded.size(), text.size());
        EXPECT_EQ(decode(coding, encoded), text);
        for (std::size_t bytes : {1, 2, 3, 7, 1000}) {
            for (std::size_t space : {1, 5, 4096}) {
                EXPECT_EQ(decode(coding, encoded, {}, {bytes, space}), text);
            }
        }
        EXPECT_EQ(decode(coding, encode(coding, "")), "");
    }
    EXPECT_EQ(decode(Coding::Identity, text, {}, {7, 5}), text);
}

TEST(ContentDecoder, HTTP_5_members_of_gzip_and_frames_of_zstd_follow_one_another) {
    EXPECT_EQ(decode(Coding::Gzip, encode(Coding::Gzip, "one ") + encode(Coding::Gzip, "two")),
              "one two");
    std::string skippable("\x5a\x2a\x4d\x18\3\0\0\0abc", 11);
    EXPECT_EQ(decode(Coding::Zstd,
                     encode(Coding::Zstd, "one ") + skippable + encode(Coding::Zstd, "two")),
              "one two");
    std::string cut = encode(Coding::Gzip, "one") + encode(Coding::Gzip, "two").substr(0, 1);
    EXPECT_EQ(kind_of(decode(Coding::Gzip, cut)), ErrorKind::Other);
}

TEST(ContentDecoder, HTTP_5_deflate_may_come_without_the_wrapper_of_zlib) {
    std::string text = words(1000);
    for (int level : {1, 6, 9}) {
        std::string wrapped = encode(Coding::Deflate, text, level);
        std::string raw = wrapped.substr(2, wrapped.size() - 6);
        EXPECT_EQ(decode(Coding::Deflate, raw), text);
        EXPECT_EQ(decode(Coding::Deflate, raw, {}, {1, 1}), text);
        EXPECT_EQ(kind_of(decode(Coding::Deflate, raw + 'x')), ErrorKind::Other);
    }
    EXPECT_EQ(decode(Coding::Deflate, std::string_view("\3\0", 2)), "");
}

TEST(ContentEncoder, HTTP_6a_what_was_flushed_can_be_decoded_at_once) {
    for (Coding coding : kCodings) {
        auto encoder = Encoder::create(coding);
        auto decoder = Decoder::create(coding);
        ASSERT_TRUE(encoder && decoder);
        std::array<std::byte, Encoder::kSpaceBytesMin> space;
        std::array<std::byte, 1024> decoded;
        for (int i = 0; i < 100; ++i) {
            std::string event = "data: " + words(static_cast<std::size_t>(i));
            std::string seen;
            Bytes bytes = as_bytes(event);
            for (bool done = false; !done;) {
                auto step = encoder->encode(bytes, space, Until::Flushed);
                ASSERT_TRUE(step);
                bytes = bytes.subspan(step->used);
                done = step->done;
                auto back = decoder->decode(Bytes(space).first(step->made), decoded);
                ASSERT_TRUE(back) << failure(back);
                EXPECT_EQ(back->used, step->made);
                seen += as_text(Bytes(decoded).first(back->made));
            }
            EXPECT_EQ(seen, event) << to_string(coding);
        }
        // Nothing new: nothing, or at least nothing that never ends.
        EXPECT_TRUE(encoder->encode({}, space, Until::Flushed)->done);
    }
}

TEST(ContentEncoder, HTTP_5_levels_that_a_coding_does_not_have_and_bytes_after_the_end_are_misuse) {
    for (Coding coding : kCodings) {
        EXPECT_EQ(kind_of(Encoder::create(coding, -1)), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(Encoder::create(coding, 20)), ErrorKind::Misuse);
        auto encoder = Encoder::create(coding, 1);
        ASSERT_TRUE(encoder);
        std::array<std::byte, 256> space;
        EXPECT_TRUE(encoder->encode(as_bytes("x"), space, Until::Finished)->done);
        EXPECT_TRUE(encoder->encode({}, space, Until::Finished)->done);
        EXPECT_EQ(kind_of(encoder->encode(as_bytes("y"), space, Until::Finished)),
                  ErrorKind::Misuse);
    }
}

std::string choose(std::string_view field) {
    auto coding = choose_coding(field, kCodings);
    return coding ? std::string(to_string(*coding)) : "none";
}

TEST(ContentCoding, HTTP_5_a_field_of_accepted_codings_that_is_malformed_gives_identity) {
    for (std::string_view field :
         {"gzip;q", "gzip;q=2", "gzip;q=-1", "gzip;q=0.1234", "gzip;q=1.001", "gzip;q=.5",
          "gzip;level=1", "gzip;q=1;q=1", "gzip br", "gzip;q=0,5"}) {
        EXPECT_EQ(choose(field), "identity") << field;
    }
}

TEST(ContentCoding, HTTP_5_the_coding_with_the_largest_weight_is_chosen) {
    EXPECT_EQ(choose(""), "identity");
    EXPECT_EQ(choose("br, GZIP"), "gzip");  // as offered
    EXPECT_EQ(choose("x-gzip"), "gzip");
    EXPECT_EQ(choose("gzip;q=0.5, br;q=0.501"), "br");
    EXPECT_EQ(choose("gzip;q=1.000, br"), "gzip");
    EXPECT_EQ(choose("gzip;Q=0.1, identity;q=0.2"), "identity");
    EXPECT_EQ(choose("gzip, identity"), "gzip");
    EXPECT_EQ(choose("compress"), "identity");
    EXPECT_EQ(choose("*"), "gzip");
    EXPECT_EQ(choose("*;q=0.5, zstd"), "zstd");
    EXPECT_EQ(choose("gzip;q=0, *"), "deflate");
    EXPECT_EQ(choose("identity;q=0"), "none");
    EXPECT_EQ(choose("*;q=0"), "none");
    EXPECT_EQ(choose("*;q=0, identity"), "identity");
    EXPECT_EQ(choose("gzip;q=0"), "identity");
    EXPECT_EQ(choose("gzip;q=0.001"), "gzip");
    EXPECT_EQ(choose("gzip;q=1."), "gzip");
    EXPECT_EQ(choose("gzip;q=0, gzip;q=1"), "identity");
}

TEST(ContentCoding, HTTP_5_content_may_be_encoded_once) {
    EXPECT_EQ(parse_content_encoding(""), Coding::Identity);
    EXPECT_EQ(parse_content_encoding("identity, Gzip"), Coding::Gzip);
    EXPECT_EQ(parse_content_encoding("br"), Coding::Brotli);
    EXPECT_EQ(parse_content_encoding("zstd"), Coding::Zstd);
    EXPECT_EQ(parse_content_encoding("deflate"), Coding::Deflate);
    EXPECT_EQ(kind_of(parse_content_encoding("gzip, gzip")), ErrorKind::Limit);
    EXPECT_EQ(kind_of(parse_content_encoding("compress")), ErrorKind::Unavailable);
    EXPECT_EQ(kind_of(parse_content_encoding("gzip;q=1")), ErrorKind::Unavailable);
    EXPECT_EQ(kind_of(parse_content_encoding("gzip br")), ErrorKind::Other);
}

}  // namespace
}  // namespace weft::http::wire
