#include "weft/http/wire/chunked.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace weft::http::wire {
namespace {

struct Outcome {
    Progress progress = Progress::NeedMore;
    std::string content;
    std::size_t used = 0;
    unsigned status = 0;
    std::string trailers;
};

// Gives the decoder `piece` bytes at a time.
Outcome decode(std::string_view bytes, std::size_t piece, const ChunkedLimits& limits = {}) {
    ChunkedDecoder decoder(limits);
    Outcome outcome;
    std::size_t given = 0;
    while (outcome.progress == Progress::NeedMore) {
        if (outcome.used == given) {
            if (given == bytes.size()) break;
            given = std::min(given + piece, bytes.size());
        }
        auto step = decoder.decode(bytes.substr(outcome.used, given - outcome.used));
        EXPECT_TRUE(step.progress == Progress::NeedMore || step.content.empty());
        outcome.content.append(step.content);
        outcome.used += step.used;
        outcome.progress = step.progress;
    }
    outcome.status = decoder.error().status;
    for (const Headers::Field& field : decoder.trailers()) {
        outcome.trailers.append(field.name).append("=").append(field.value).append(";");
    }
    return outcome;
}

unsigned status_of(std::string_view bytes) {
    Outcome whole = decode(bytes, bytes.size());
    Outcome bytewise = decode(bytes, 1);
    EXPECT_EQ(whole.progress, bytewise.progress) << bytes;
    EXPECT_EQ(whole.status, bytewise.status) << bytes;
    EXPECT_EQ(whole.progress == Progress::Failed, whole.status != 0) << bytes;
    return whole.status;
}

TEST(Chunked, HTTP_1_content_comes_out_however_it_was_cut) {
    constexpr std::string_view kBody =
        "5\r\nhello\r\n1;a;b=c; d=\"e\\\"\t;\" ; f = g\r\n \r\n00A\r\n0123456789\r\n0\r\nX: "
        "y\r\n\r\nrest";
    for (std::size_t piece = 1; piece <= kBody.size(); ++piece) {
        Outcome outcome = decode(kBody, piece);
        EXPECT_EQ(outcome.progress, Progress::Done) << piece;
        EXPECT_EQ(outcome.content, "hello 0123456789");
        EXPECT_EQ(outcome.used, kBody.size() - 4);
        EXPECT_EQ(outcome.trailers, "X=y;");
    }
}

TEST(Chunked, HTTP_1_sizes_that_are_no_plain_hexadecimal_number_are_refused) {
    for (std::string_view size :
         {"", " 5", "5 ", "\t5", "+5", "-5", "0x5", "0X5", "x5", "1_0", "5,5", "5g", "\"5\"", "5.",
          "00000000000000005", "8000000000000000", "ffffffffffffffff",
          "\x0b"
          "5"}) {
        EXPECT_EQ(status_of(std::string(size) + "\r\nhello\r\n0\r\n\r\n"), 400U) << size;
    }
    EXPECT_EQ(status_of("0000000000000005\r\nhello\r\n0\r\n\r\n"), 0U);
    EXPECT_EQ(decode("7fffffffffffffff\r\nabc", 4).content, "abc");
}

TEST(Chunked, HTTP_1_only_CRLF_ends_a_line) {
    for (std::string_view body :
         {"5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r\n0\n\r\n",
          "5\r\nhello\r\n0\r\n\n", "5\rhello\r\n0\r\n\r\n", "5\r\r\nhello\r\n0\r\n\r\n",
          "5\r\nhello\r\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "0\r\n\r\r", "0\r\nX: y\n\r\n"}) {
        EXPECT_EQ(status_of(body), 400U) << body;
    }
}

TEST(Chunked, HTTP_1_a_line_end_inside_of_an_extension_is_refused) {
    for (std::string_view extension :
         {";\n", ";a\n", ";a=b\n", ";a=\"\n\"", ";a=\"\r\n\"", ";a=\"b\\\n\"", ";a=\"b\"\n",
          ";\r\n", ";a=\r\n", ";a\rb", ";a=\"\r\""}) {
        EXPECT_EQ(status_of("5" + std::string(extension) + "\r\nhello\r\n0\r\n\r\n"), 400U)
            << extension;
    }
}

TEST(Chunked, HTTP_1_malformed_extensions_are_refused) {
    for (std::string_view extension :
         {";", ";;a", "; ", ";=b", ";a=", ";a= ", ";a b", ";a=b c", ";a=\"b", ";a=\"b\"c", ";a ",
          ";a=b ", ";(", ";a=(", " ;a", ";a=\"\x01\"", ";a=\"\\\x01\"", ";a=\x7f"}) {
        EXPECT_EQ(status_of("5" + std::string(extension) + "\r\nhello\r\n0\r\n\r\n"), 400U)
            << extension;
    }
}

TEST(Chunked, HTTP_1_content_longer_than_its_size_is_refused) {
    EXPECT_EQ(status_of("4\r\nhello\r\n0\r\n\r\n"), 400U);
    EXPECT_EQ(status_of("6\r\nhello\r\n0\r\n\r\n"), 400U);
}

TEST(Chunked, HTTP_1_a_body_that_is_cut_off_is_not_done) {
    constexpr std::string_view kBody = "5;a=\"b\"\r\nhello\r\n0\r\nX: y\r\n\r\n";
    for (std::size_t size = 0; size < kBody.size(); ++size) {
        EXPECT_EQ(decode(kBody.substr(0, size), 3).progress, Progress::NeedMore) << size;
    }
    EXPECT_EQ(decode(kBody, 3).progress, Progress::Done);
}

TEST(Chunked, HTTP_1_trailers_that_change_the_message_are_refused) {
    for (std::string_view name : {"Content-Length", "transfer-encoding", "HOST", "Connection",
                                  "Trailer", "Upgrade", "TE", "Keep-Alive"}) {
        EXPECT_EQ(status_of("0\r\n" + std::string(name) + ": 1\r\n\r\n"), 400U) << name;
    }
    for (std::string_view line : {"A : b", " A: b", "A", ": b", "A: \x01", "A: b\rc", "\tA: b"}) {
        EXPECT_EQ(status_of("0\r\n" + std::string(line) + "\r\n\r\n"), 400U) << line;
    }
}

TEST(Chunked, HTTP_1_trailers_that_come_too_late_are_dropped) {
    Outcome outcome = decode(
        "0\r\nA: b\r\nSet-Cookie: c\r\nAuthorization: d\r\nContent-Type: e\r\nF: \tg \r\n\r\n", 5);
    EXPECT_EQ(outcome.progress, Progress::Done);
    EXPECT_EQ(outcome.trailers, "A=b;F=g;");
}

TEST(Chunked, HTTP_1_limits_hold) {
    ChunkedLimits limits{
        .extension_bytes = 8, .extension_bytes_total = 20, .trailer_bytes = 32, .trailers = 2};
    auto status = [&](std::string_view body) { return decode(body, 3, limits).status; };
    EXPECT_EQ(status("1;aaaaaaa\r\nx\r\n0\r\n\r\n"), 0U);
    EXPECT_EQ(status("1;aaaaaaaa\r\nx\r\n0\r\n\r\n"), 400U);
    EXPECT_EQ(status("1;aaaa\r\nx\r\n1;aaaa\r\nx\r\n1;aaaa\r\nx\r\n0\r\n\r\n"), 0U);
    EXPECT_EQ(status("1;aaaaaa\r\nx\r\n1;aaaaaa\r\nx\r\n1;aaaaaa\r\nx\r\n0\r\n\r\n"), 400U);
    EXPECT_EQ(status("0\r\na: 1\r\nb: 2\r\n\r\n"), 0U);
    EXPECT_EQ(status("0\r\na: 1\r\nb: 2\r\nc: 3\r\n\r\n"), 431U);
    EXPECT_EQ(status("0\r\na: " + std::string(40, 'x') + "\r\n\r\n"), 431U);
    EXPECT_EQ(status("0\r\n" + std::string(40, 'x')), 431U);
}

TEST(Chunked, HTTP_1_a_decoder_is_used_again_after_reset) {
    ChunkedDecoder decoder;
    EXPECT_EQ(decoder.decode("x").progress, Progress::Failed);
    EXPECT_EQ(decoder.decode("0\r\n\r\n").progress, Progress::Failed);
    decoder.reset();
    auto step = decoder.decode("0\r\nA: b\r\n\r\n");
    EXPECT_EQ(step.progress, Progress::Done);
    EXPECT_EQ(step.used, 11U);
    EXPECT_EQ(decoder.decode("more").used, 0U);
    decoder.reset();
    EXPECT_TRUE(decoder.trailers().empty());
    EXPECT_EQ(decoder.decode("0\r\n\r\n").progress, Progress::Done);
}

TEST(Chunked, HTTP_1_the_head_of_a_chunk_is_its_size) {
    EXPECT_EQ(chunk_head(0).view(), "0\r\n");
    EXPECT_EQ(chunk_head(15).view(), "f\r\n");
    EXPECT_EQ(chunk_head(16).view(), "10\r\n");
    EXPECT_EQ(chunk_head(0x1234abcd).view(), "1234abcd\r\n");
    EXPECT_EQ(chunk_head(std::numeric_limits<std::uint64_t>::max()).view(), "ffffffffffffffff\r\n");
}

}  // namespace
}  // namespace weft::http::wire
