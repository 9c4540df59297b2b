// Static files over a real connection: how the server sends the handler's responses.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "weft/base/format.h"
#include "weft/http/files/static_files.h"
#include "weft/http/internal/server_test.h"
#include "weft/testing/eventually.h"

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

// sendfile(2) puts the pages of the file into the socket. A change of the file while they wait
// there changes what is received; a copy would stay as it was.
TEST_F(SentFiles, HTTP_8_large_files_are_sent_by_the_kernel_from_the_pages_of_the_file) {
    constexpr std::size_t kBytes = 4 << 20;
    std::ofstream(folder_ + "/paper") << std::string(kBytes, 'a');
    TestServer server(static_files(folder_).value());
    RawClient client = server.connect();
    client.send(get("/paper"));
    client.read_until("\r\n\r\n");
    int waiting = 0;
    ASSERT_TRUE(weft::testing::eventually([&] {
        return ::ioctl(client.socket().descriptor().fd(), FIONREAD, &waiting) == 0 &&
               waiting >= 64 * 1024;
    }));
    int file = ::open((folder_ + "/paper").c_str(), O_WRONLY);
    std::string other(kBytes, 'b');
    EXPECT_EQ(::pwrite(file, other.data(), other.size(), 0), static_cast<ssize_t>(kBytes));
    ::close(file);
    std::string received = client.read_count(kBytes);
    ASSERT_EQ(received.size(), kBytes);
    // At most 16 KiB were received with the head, before the change; all that waited is new.
    std::string_view waited = std::string_view(received).substr(16 * 1024, 32 * 1024);
    EXPECT_EQ(waited.find('a'), std::string_view::npos);
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
    // No content follows: the next response begins at once.
    client.send(get("/small.txt"));
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(SentFiles, HTTP_8_a_file_that_shrinks_while_it_is_sent_ends_the_connection) {
    TestServer server(static_files(folder_).value());
    RawClient client = server.connect();
    // The file is larger than the sockets' buffers, so that a part of it is unsent when it shrinks.
    // It is one large hole: its content is not checked, since the kernel reads the pages only when
    // it sends them.
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
