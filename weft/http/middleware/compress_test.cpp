#include "weft/http/middleware/compress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/fiber/runtime.h"
#include "weft/http/internal/handler_test.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/request.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using handler_test::ask;
using handler_test::content;
using handler_test::header;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using testing::TestServer;
using wire::Coding;

// The text as a client decodes it; an error as a message in parentheses.
std::string decoded(std::string_view bytes, Coding coding, bool whole = true) {
    auto decoder = wire::Decoder::create(coding);
    std::string text;
    std::vector<std::byte> space(100'000);
    Bytes rest = as_bytes(bytes);
    for (;;) {
        auto step = decoder->decode(rest, space);
        if (!step) return "(" + step.error().message() + ")";
        text += as_text(Bytes(space).first(step->made));
        rest = rest.subspan(step->used);
        if (rest.empty() && step->made < space.size()) break;
    }
    if (whole && !decoder->finish()) return "(cut off)";
    return text;
}

std::string text_of(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i) + " and ";
    text.resize(bytes);
    return text;
}

Handler compressing(Handler handler, CompressOptions options = {}) {
    return compress(std::move(options))(std::move(handler));
}

// A handler that answers with this text.
Handler saying(std::string text, std::string_view type = "text/plain") {
    return compressing([text = std::move(text), type = std::string(type)](
                           Request&, async::Context&) -> Result<Response> {
        return Response::text(text).with("content-type", type).with("etag", "\"1\"");
    });
}

TEST(Compress, HTTP_13c_the_coding_that_the_client_likes_best_is_taken) {
    std::string text = text_of(10'000);
    Handler handler = saying(text);
    const std::pair<std::string_view, Coding> cases[] = {
        {"gzip", Coding::Gzip},
        {"br", Coding::Brotli},
        {"zstd", Coding::Zstd},
        {"gzip, br, zstd", Coding::Zstd},
        {"gzip;q=1, br;q=0.5, zstd;q=0.1", Coding::Gzip},
        {"*", Coding::Zstd},
        {"*;q=0.5, gzip", Coding::Gzip},
        {"x-gzip", Coding::Gzip},
    };
    for (auto [accepted, coding] : cases) {
        Response response = *ask(handler, "GET", "/", {{"accept-encoding", accepted}});
        EXPECT_EQ(header(response, "content-encoding"), to_string(coding)) << accepted;
        EXPECT_EQ(decoded(content(response), coding), text) << accepted;
        EXPECT_LT(response.body.size().value_or(SIZE_MAX), text.size());
        EXPECT_EQ(header(response, "vary"), "Accept-Encoding");
        EXPECT_EQ(header(response, "etag"), "W/\"1\"");
    }
}

TEST(Compress, HTTP_13c_who_does_not_ask_gets_it_as_it_is_and_caches_are_told) {
    std::string text = text_of(10'000);
    Handler handler = saying(text);
    for (std::string_view accepted :
         {"", "identity", "deflate", "gzip;q=0, *;q=0", "identity;q=1, gzip;q=0.5", "gzip;q=x",
          "gzip;q=0, br;q=0, zstd;q=0", "*;q=0", "bogus"}) {
        Response response = *ask(handler, "GET", "/", {{"accept-encoding", accepted}});
        EXPECT_EQ(header(response, "content-encoding"), "(none)") << accepted;
        EXPECT_EQ(content(response), text);
        EXPECT_EQ(header(response, "vary"), "Accept-Encoding");
        EXPECT_EQ(header(response, "etag"), "\"1\"");
    }
    Response silent = *ask(handler, "GET", "/");
    EXPECT_EQ(header(silent, "content-encoding"), "(none)");
}

TEST(Compress, HTTP_13c_what_is_small_incompressible_or_of_another_type_is_left_alone) {
    auto coding_of = [](const Handler& handler) {
        return header(*ask(handler, "GET", "/", {{"accept-encoding", "gzip"}}), "content-encoding");
    };
    EXPECT_EQ(coding_of(saying(text_of(1023))), "(none)");
    EXPECT_EQ(coding_of(saying(text_of(1024))), "gzip");
    EXPECT_EQ(coding_of(saying(text_of(5000), "image/png")), "(none)");
    EXPECT_EQ(coding_of(saying(text_of(5000), "application/ld+json; a=b")), "gzip");
    EXPECT_EQ(coding_of(saying(text_of(5000), "TEXT/HTML;charset=utf-8")), "gzip");
    std::string noise;
    for (std::uint64_t i = 1; noise.size() < 5000; ++i) {
        noise += static_cast<char>((i * 0x9E3779B97F4A7C15ULL * i) >> 56);
    }
    Handler noisy = saying(noise);
    Response response = *ask(noisy, "GET", "/", {{"accept-encoding", "gzip"}});
    EXPECT_EQ(header(response, "content-encoding"), "(none)");
    EXPECT_EQ(content(response), noise);
    EXPECT_EQ(header(response, "etag"), "\"1\"");
    EXPECT_EQ(header(response, "vary"), "Accept-Encoding");
}

TEST(Compress, HTTP_13c_nothing_is_coded_twice_or_against_its_fields) {
    const std::pair<std::string_view, std::string_view> fields[] = {
        {"content-encoding", "br"},
        {"content-encoding", "identity"},
        {"content-range", "bytes 0-4999/10000"},
        {"cache-control", "public, no-transform"},
        {"content-digest", "sha-256=:AAAA=:"},
    };
    for (auto [name, value] : fields) {
        Handler handler = compressing([&](Request&, async::Context&) -> Result<Response> {
            return Response::text(text_of(5000)).with(name, value);
        });
        Response response = *ask(handler, "GET", "/", {{"accept-encoding", "gzip"}});
        EXPECT_EQ(response.headers.count("content-encoding"), name == "content-encoding" ? 1U : 0U);
        EXPECT_EQ(content(response), text_of(5000)) << name;
    }
    for (unsigned status : {204U, 205U, 206U, 304U}) {
        Handler handler = compressing([&](Request&, async::Context&) -> Result<Response> {
            return Response::text(text_of(5000), static_cast<std::uint16_t>(status));
        });
        Response response = *ask(handler, "GET", "/", {{"accept-encoding", "gzip"}});
        EXPECT_EQ(header(response, "content-encoding"), "(none)") << status;
    }
    Handler twice = compress()(saying(text_of(5000)));
    Response response = *ask(twice, "GET", "/", {{"accept-encoding", "gzip"}});
    EXPECT_EQ(decoded(content(response), Coding::Gzip), text_of(5000));
    EXPECT_EQ(response.headers.count("vary"), 1U);
}

TEST(Compress, HTTP_13c_head_has_the_fields_of_get) {
    TestServer server(saying(text_of(10'000)));
    RawClient client = server.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    std::string head = client.read_until("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
    EXPECT_THAT(head, HasSubstr("\r\nETag: W/\"1\"\r\n"));
    EXPECT_THAT(head, Not(HasSubstr("Content-Length: 10000")));
    // No content follows the head.
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), ::testing::StartsWith("HTTP/1.1 200 "));
}

TEST(Compress, HTTP_13c_large_texts_and_files_are_streamed) {
    std::string text = text_of(1'000'000);
    weft::testing::TemporaryFile temporary(500'000);
    auto file = std::make_shared<const File>(File::adopt(::fcntl(temporary.fd(), F_DUPFD, 0)));
    Handler handler = compressing([&](Request& request, async::Context&) -> Result<Response> {
        Response response = Response::text(text);
        if (request.path() == "/file") response.body = Body::file(file, 10, 400'000);
        if (request.path() == "/cut") response.body = Body::file(file, 10, 500'000);
        response.headers.add("Accept-Ranges", "bytes");
        return response;
    });
    for (Coding coding : {Coding::Gzip, Coding::Brotli, Coding::Zstd}) {
        Response large = *ask(handler, "GET", "/", {{"accept-encoding", to_string(coding)}});
        EXPECT_EQ(large.body.size(), std::nullopt);
        EXPECT_EQ(header(large, "accept-ranges"), "(none)");
        EXPECT_TRUE(decoded(content(large), coding) == text);
        Response part = *ask(handler, "GET", "/file", {{"accept-encoding", to_string(coding)}});
        EXPECT_TRUE(decoded(content(part), coding) == temporary.text().substr(10, 400'000));
        Response cut = *ask(handler, "GET", "/cut", {{"accept-encoding", to_string(coding)}});
        EXPECT_EQ(content(cut), "(the file ends too early)");
    }
}

TEST(Compress, HTTP_13c_what_a_stream_flushes_reaches_the_client_at_once) {
    for (Coding coding : {Coding::Gzip, Coding::Brotli, Coding::Zstd}) {
        Event go_on;
        TestServer server(compressing([&](Request&, async::Context&) -> Result<Response> {
            return Response::stream("text/event-stream", [&](BodyWriter& writer) -> Result<void> {
                WEFT_TRY(writer.write("data: one\n\n"));
                WEFT_TRY(writer.flush());
                WEFT_TRY(go_on.wait());
                writer.trailers().set("x-sum", "2");
                return writer.write("data: two\n\n");
            });
        }));
        RawClient client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " +
                    std::string(to_string(coding)) + "\r\n\r\n");
        client.read_until("\r\n\r\n");
        std::string body;
        auto read_chunk = [&] {
            std::size_t size = std::stoul(client.read_until("\r\n"), nullptr, 16);
            body += client.read_count(size);
            if (size > 0) client.read_until("\r\n");
            return size;
        };
        read_chunk();
        EXPECT_EQ(decoded(body, coding, false), "data: one\n\n") << to_string(coding);
        go_on.set();
        while (read_chunk() > 0) {}
        EXPECT_EQ(decoded(body, coding), "data: one\n\ndata: two\n\n") << to_string(coding);
        EXPECT_EQ(client.read_until("\r\n\r\n"), "x-sum: 2\r\n\r\n");
    }
}

TEST(Compress, HTTP_13c_a_producer_that_fails_is_seen_as_cut_off) {
    weft::testing::CapturedLog captured;
    TestServer server(compressing([&](Request&, async::Context&) -> Result<Response> {
        return Response::stream("text/plain", [&](BodyWriter& writer) -> Result<void> {
            WEFT_TRY(writer.write("half"));
            WEFT_TRY(writer.flush());
            return ErrorKind::Other;
        });
    }));
    std::string answer = server.ask("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    EXPECT_FALSE(answer.ends_with("0\r\n\r\n"));
}

TEST(Compress, HTTP_13c_a_large_text_leaves_turns_to_others) {
    Result<void> outcome = run(
        []() -> Result<void> {
            Handler handler = saying(text_of(60'000));
            bool others_run = false;
            auto other = spawn([&] { others_run = true; });
            for (int i = 0; i < 1000 && !others_run; ++i)
                EXPECT_TRUE(ask(handler, "GET", "/", {{"accept-encoding", "gzip"}}));
            EXPECT_TRUE(others_run);
            return other.join();
        },
        {.workers = 1});
    EXPECT_TRUE(outcome);
}

}  // namespace
}  // namespace weft::http
