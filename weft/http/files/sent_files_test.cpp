// Static files over a real connection: what the server makes of the handler's responses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "weft/base/format.h"
#include "weft/http/files/static_files.h"
#include "weft/http/internal/server_test.h"

namespace weft::http {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;

class SentFiles : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "weft-sent-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        for (std::size_t i = 0; i < 8'000'000; ++i) large_ += static_cast<char>('a' + i * 7 % 26);
        std::ofstream(folder_ + "/large") << large_;
        std::ofstream(folder_ + "/small.txt") << "0123456789";
    }
    void TearDown() override { fs::remove_all(folder_); }

    static std::string get(std::string_view path, std::string_view fields = "") {
        return format("GET {} HTTP/1.1\r\nHost: a\r\n{}\r\n", path, fields);
    }

    std::string folder_;
    std::string large_;
};

TEST_F(SentFiles, HTTP_8_files_small_and_large_arrive_as_they_are) {
    TestServer server(static_files(folder_).value());
    RawClient client = server.connect();
    for (int round = 0; round < 2; ++round) {
        client.send(get("/small.txt"));
        EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n0123456789"));
        client.send(get("/large"));
        EXPECT_TRUE(client.read_response().ends_with("\r\n\r\n" + large_));
        client.send(get("/large", "Range: bytes=1000000-2999999\r\n"));
        std::string part = client.read_response();
        EXPECT_THAT(part.substr(0, 20), StartsWith("HTTP/1.1 206 "));
        EXPECT_TRUE(part.ends_with("\r\n\r\n" + large_.substr(1'000'000, 2'000'000)));
        client.send(get("/large", "Range: bytes=0-99999,1000000-1099999\r\n"));
        std::string parts = client.read_response();
        EXPECT_TRUE(parts.find(large_.substr(0, 100'000)) != std::string::npos);
        EXPECT_TRUE(parts.find(large_.substr(1'000'000, 100'000)) != std::string::npos);
        EXPECT_TRUE(parts.ends_with("--\r\n"));
    }
}

TEST_F(SentFiles, HTTP_8_head_and_304_say_the_length_and_send_nothing) {
    TestServer server(static_files(folder_).value());
    RawClient client = server.connect();
    client.send("HEAD /large HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("\r\nContent-Length: 8000000\r\n"));
    client.send(get("/small.txt", "If-None-Match: *\r\n"));
    std::string unchanged = client.read_until("\r\n\r\n");
    EXPECT_THAT(unchanged, StartsWith("HTTP/1.1 304 "));
    EXPECT_THAT(unchanged, Not(HasSubstr("Content-Length: 0\r\n")));
    // Nothing lies between them: the next response begins at once.
    client.send(get("/small.txt"));
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(SentFiles, HTTP_8_a_file_that_shrinks_while_it_is_sent_ends_the_connection) {
    TestServer server(static_files(folder_).value());
    RawClient client = server.connect();
    // More than the sockets hold is still in the file when it is cut. It is one large hole, for the
    // kernel sends pages as they are at the last moment: no content could be relied on.
    constexpr std::size_t kBytes = 64 << 20;
    std::ofstream(folder_ + "/hole").flush();
    fs::resize_file(folder_ + "/hole", kBytes);
    client.send(get("/hole"));
    std::string head = client.read_until("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr(format("\r\nContent-Length: {}\r\n", kBytes)));
    fs::resize_file(folder_ + "/hole", 100);
    EXPECT_LT(client.read_to_end().size(), kBytes);
}

TEST_F(SentFiles, HTTP_8_parts_of_a_file_that_has_shrunk_end_the_connection) {
    TestServer server(static_files(folder_, {.fresh_time = std::chrono::hours(1)}).value());
    RawClient client = server.connect();
    client.send(get("/large", "Range: bytes=0-0\r\n"));
    EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\na"));
    fs::resize_file(folder_ + "/large", 100);
    client.send(get("/large", "Range: bytes=0-9,1000-7999999\r\n"));
    std::string head = client.read_until("\r\n\r\n");
    EXPECT_THAT(head, StartsWith("HTTP/1.1 206 "));
    EXPECT_LT(client.read_to_end().size(), 1000U);
}

}  // namespace
}  // namespace weft::http
