#include "weft/http/middleware/body_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "weft/base/format.h"
#include "weft/fiber/runtime.h"
#include "weft/http/internal/handler_test.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/request.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

namespace fs = std::filesystem;
using handler_test::TextReader;
using ::testing::EndsWith;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;
using weft::testing::eventually;

class BodyFileTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "weft-body-test-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }
    static std::string content_of(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static std::string post(std::string_view body) {
        return format("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", body.size(),
                      body);
    }
    // A handler that answers with the content of the file.
    Handler echo(std::uint64_t bytes_max = 1 << 20) const {
        return body_to_file({.folder = folder_, .bytes_max = bytes_max})(
            [](Request&, async::Context& context) -> Result<Response> {
                const BodyFile& saved = **context.value(kBodyFile);
                EXPECT_EQ(fs::file_size(saved.path()), saved.size());
                EXPECT_EQ(fs::status(saved.path()).permissions(),
                          fs::perms::owner_read | fs::perms::owner_write);
                return Response::text(content_of(saved.path()));
            });
    }

    std::string folder_;
};

TEST_F(BodyFileTest, HTTP_13f_a_body_is_in_a_file_while_its_request_lasts) {
    TestServer server(echo());
    RawClient client = server.connect();
    std::string large(300'001, 'x');
    for (const std::string& body : {std::string(), std::string("hello"), large}) {
        client.send(post(body));
        EXPECT_TRUE(client.read_response().ends_with("\r\n\r\n" + body)) << body.size();
        EXPECT_TRUE(eventually([&] { return files() == 0; }));
    }
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\nabcde"));
}

TEST_F(BodyFileTest, HTTP_13f_a_body_that_is_kept_stays) {
    std::string kept = folder_ + "/kept";
    std::ofstream(kept) << "what was there";
    TestServer server(body_to_file({.folder = folder_})(
        [&](Request&, async::Context& context) -> Result<Response> {
            BodyFile& saved = **context.value(kBodyFile);
            EXPECT_FALSE(saved.keep(folder_ + "/nowhere/kept"));
            WEFT_TRY(saved.keep(kept));
            return Response::text(saved.path());
        }));
    RawClient client = server.connect();
    client.send(post("hello"));
    EXPECT_THAT(client.read_response(), EndsWith("/kept"));
    EXPECT_EQ(content_of(kept), "hello");
    EXPECT_EQ(files(), 1U);
}

TEST_F(BodyFileTest, HTTP_13g_a_body_that_is_too_large_gets_413_and_leaves_nothing) {
    ServerOptions options;
    options.limits.linger_time = std::chrono::milliseconds(20);
    TestServer server(echo(10), options);
    EXPECT_THAT(server.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n"),
                StartsWith("HTTP/1.1 413 "));
    EXPECT_THAT(server.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "b\r\n01234567890\r\n0\r\n\r\n"),
                StartsWith("HTTP/1.1 413 "));
    RawClient client = server.connect();
    client.send(post("0123456789"));
    EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n0123456789"));
    EXPECT_TRUE(eventually([&] { return files() == 0; }));
}

TEST_F(BodyFileTest, HTTP_13g_a_body_that_is_cut_off_or_stops_leaves_nothing) {
    ServerOptions options;
    options.limits.body_idle = std::chrono::milliseconds(30);
    TestServer server(echo(), options);
    RawClient cut = server.connect();
    cut.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" +
             std::string(70'000, 'x'));
    EXPECT_TRUE(eventually([&] { return files() == 1; }));
    cut.close();
    EXPECT_TRUE(eventually([&] { return files() == 0; }));
    RawClient slow = server.connect();
    slow.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nx");
    EXPECT_THAT(slow.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_TRUE(eventually([&] { return files() == 0; }));
}

TEST_F(BodyFileTest, HTTP_13g_a_handler_that_fails_or_is_cancelled_leaves_nothing) {
    weft::testing::CapturedLog captured;
    Event entered;
    TestServer server(body_to_file({.folder = folder_})(
        [&](Request& request, async::Context&) -> Result<Response> {
            if (request.path() == "/fails") return ErrorKind::Other;
            entered.set();
            Event never;
            WEFT_TRY(never.wait());
            return Response::text("never");
        }));
    RawClient failing = server.connect();
    failing.send("POST /fails HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    EXPECT_THAT(failing.read_response(), StartsWith("HTTP/1.1 500 "));
    RawClient gone = server.connect();
    gone.send(post("hello"));
    EXPECT_TRUE(entered.wait_for(testing::kPatience));
    EXPECT_TRUE(eventually([&] { return files() == 1; }));
    gone.close();
    EXPECT_TRUE(eventually([&] { return files() == 0; }));
}

TEST_F(BodyFileTest, HTTP_13g_whoever_holds_the_file_has_it_also_after_the_handler) {
    TestServer server(body_to_file({.folder = folder_})(
        [](Request&, async::Context& context) -> Result<Response> {
            std::shared_ptr<BodyFile> saved = *context.value(kBodyFile);
            return Response::stream("text/plain", [saved](BodyWriter& writer) {
                return writer.write(content_of(saved->path()));
            });
        }));
    RawClient client = server.connect();
    client.send(post("hello"));
    EXPECT_THAT(client.read_until("0\r\n\r\n"), EndsWith("5\r\nhello\r\n0\r\n\r\n"));
    EXPECT_TRUE(eventually([&] { return files() == 0; }));
}

TEST_F(BodyFileTest, HTTP_13g_without_a_folder_there_is_an_error) {
    TextReader body("hello");
    auto saved = BodyFile::save(body, {.folder = folder_ + "/nowhere"});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().kind(), ErrorKind::NotFound);
}

TEST_F(BodyFileTest, HTTP_13f_a_plain_thread_saves_as_well) {
    TextReader body("hello");
    auto saved = BodyFile::save(body, {.folder = folder_, .bytes_max = UINT64_MAX});
    ASSERT_TRUE(saved);
    EXPECT_EQ(body.bytes_max(), UINT64_MAX);
    EXPECT_EQ(content_of((*saved)->path()), "hello");
    saved->reset();
    EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace weft::http
