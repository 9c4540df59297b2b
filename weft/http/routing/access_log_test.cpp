#include "weft/http/routing/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/http/internal/handler_test.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using handler_test::MadeRequest;
using std::chrono::hours;
using std::chrono::milliseconds;

// Sun, 06 Nov 1994 08:49:37.123 GMT
constexpr std::int64_t kWall = 784'111'777'123'000'000;

std::string line_of(AccessFormat format, MadeRequest& made) {
    AccessRecord record{&made.request(), made.peer(), 200, 12, milliseconds(3), true};
    return format_access(format, record, kWall);
}

TEST(AccessLog, HTTP_10_the_formats_are_those_that_readers_know) {
    MadeRequest made(
        "GET", "/a?b=c",
        {{"host", "a.org"}, {"referer", "http://example.org/"}, {"user-agent", "curl/8"}});
    EXPECT_EQ(line_of(AccessFormat::Common, made),
              "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /a?b=c HTTP/1.1\" 200 12\n");
    EXPECT_EQ(line_of(AccessFormat::Combined, made),
              "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /a?b=c HTTP/1.1\" 200 12 "
              "\"http://example.org/\" \"curl/8\"\n");
    EXPECT_EQ(line_of(AccessFormat::Json, made),
              "{\"time\":\"1994-11-06T08:49:37.123Z\",\"peer\":\"127.0.0.1\",\"method\":\"GET\","
              "\"target\":\"/a?b=c\",\"version\":\"1.1\",\"host\":\"a.org\","
              "\"referer\":\"http://example.org/\",\"user_agent\":\"curl/8\",\"status\":200,"
              "\"body_bytes\":12,\"duration_us\":3000,\"complete\":true}\n");
}

TEST(AccessLog, HTTP_10_a_connection_without_a_request_has_a_line_too) {
    net::Address peer = *net::Address::unix_path("/run/x");
    AccessRecord record{nullptr, peer, 400, 0, {}, false};
    EXPECT_EQ(format_access(AccessFormat::Combined, record, kWall),
              "unix - - [06/Nov/1994:08:49:37 +0000] \"-\" 400 0 \"-\" \"-\"\n");
    EXPECT_EQ(format_access(AccessFormat::Json, record, kWall),
              "{\"time\":\"1994-11-06T08:49:37.123Z\",\"peer\":\"unix\",\"status\":400,"
              "\"body_bytes\":0,\"duration_us\":0,\"complete\":false}\n");
}

TEST(AccessLog, HTTP_10_nothing_that_a_client_sends_makes_a_second_line_or_field) {
    // As if every parser had let it through: all bytes, and UTF-8 that ends lines.
    std::string hostile = "/\" 200 0\n\r127.0.0.1 - -\\";
    for (int byte = 0; byte < 256; ++byte) hostile += static_cast<char>(byte);
    hostile += "\u0085\u2028\u2029\x1b[2J\u009b";
    MadeRequest made("GET", hostile);
    for (AccessFormat format : {AccessFormat::Common, AccessFormat::Combined, AccessFormat::Json}) {
        std::string line = line_of(format, made);
        EXPECT_EQ(std::ranges::count(line, '\n'), 1);
        line.pop_back();
        EXPECT_TRUE(std::ranges::none_of(line, [](char c) {
            return (c >= 0 && c < ' ') || c == 0x7F;
        })) << line;
        EXPECT_EQ(line.find("\u2028"), std::string::npos);
        EXPECT_EQ(line.find("\u009b"), std::string::npos);
    }
    std::string common = line_of(AccessFormat::Common, made);
    EXPECT_EQ(std::ranges::count(common, '"'), 2);
    EXPECT_NE(common.find("/\\x22 200 0\\x0A\\x0D127"), std::string::npos) << common;
    std::string json = line_of(AccessFormat::Json, made);
    EXPECT_NE(json.find("\"target\":\"/\\u0022 200 0\\u000a\\u000d127"), std::string::npos) << json;
    EXPECT_NE(json.find("\ufffd"), std::string::npos);
}

TEST(AccessLog, HTTP_10_a_huge_field_is_cut) {
    MadeRequest made("GET", "/" + std::string(100'000, 'a'), {{"user-agent", "\x01"}});
    EXPECT_LT(line_of(AccessFormat::Combined, made).size(), kAccessFieldBytesMax + 200);
    EXPECT_LT(line_of(AccessFormat::Json, made).size(), kAccessFieldBytesMax + 400);
}

class AccessLogTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "weft-access-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path() const { return folder_ + "/access.log"; }
    std::size_t lines() const {
        std::ifstream file(path());
        return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file),
                                                   std::istreambuf_iterator<char>(), '\n'));
    }
    static void write(AccessLog& log) {
        MadeRequest made("GET", "/");
        log.write({&made.request(), made.peer(), 200, 0, {}, true});
    }

    std::string folder_;
};

TEST_F(AccessLogTest, HTTP_10_a_file_that_cannot_be_opened_is_an_error) {
    EXPECT_FALSE(AccessLog::open(folder_));
    EXPECT_FALSE(AccessLog::open(folder_ + "/missing/access.log"));
}

TEST_F(AccessLogTest, HTTP_10_lines_reach_the_file_in_time_and_at_the_end) {
    Result<void> outcome = run([&]() -> Result<void> {
        auto log = WEFT_TRY(AccessLog::open(path(), {.flush_time = milliseconds(1)}));
        auto writer = spawn([&] { return log->run(); });
        write(*log);
        EXPECT_TRUE(testing::eventually([&] { return lines() == 1; }));
        write(*log);
        EXPECT_TRUE(testing::eventually([&] { return lines() == 2; }));
        for (int i = 0; i < 100; ++i) write(*log);
        log->close();
        write(*log);
        WEFT_TRY(writer.join());
        EXPECT_EQ(lines(), 102U);
        EXPECT_EQ(log->counters().lines.value(), 102U);
        EXPECT_EQ(log->counters().dropped.value(), 1U);
        return {};
    });
    EXPECT_TRUE(outcome);
}

TEST_F(AccessLogTest, HTTP_10_the_lines_of_a_cancelled_log_are_written) {
    Result<void> outcome = run([&]() -> Result<void> {
        auto log = WEFT_TRY(AccessLog::open(path(), {.flush_time = hours(1)}));
        CancelSource source;
        auto writer = spawn([&] {
            CancelScope scope(source.token());
            return log->run();
        });
        write(*log);
        yield();
        source.cancel();
        WEFT_TRY(writer.join());
        EXPECT_EQ(lines(), 1U);
        write(*log);
        EXPECT_EQ(log->counters().dropped.value(), 1U);
        return {};
    });
    EXPECT_TRUE(outcome);
}

TEST_F(AccessLogTest, HTTP_10_a_full_log_drops_lines_and_never_waits) {
    Result<void> outcome = run([&]() -> Result<void> {
        auto log = WEFT_TRY(AccessLog::open(path(), {.bytes_max = 4096, .flush_time = hours(1)}));
        for (int i = 0; i < 1000; ++i) write(*log);  // nobody runs it yet
        std::uint64_t taken = log->counters().lines.value();
        EXPECT_EQ(taken + log->counters().dropped.value(), 1000U);
        EXPECT_GT(taken, 30U);
        EXPECT_LT(taken, 60U);
        // More than half full: it does not take an hour.
        auto writer = spawn([&] { return log->run(); });
        EXPECT_TRUE(testing::eventually([&] { return lines() == taken; }));
        write(*log);
        log->close();
        WEFT_TRY(writer.join());
        EXPECT_EQ(lines(), taken + 1);
        return {};
    });
    EXPECT_TRUE(outcome);
}

// The process may write no more than so much to a file, as if the disk were full.
class FileLimit {
public:
    explicit FileLimit(rlim_t bytes) {
        ::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, SIG_DFL);
    }

private:
    rlimit before_{};
};

TEST_F(AccessLogTest, HTTP_10_a_disk_that_is_full_leaves_no_part_of_a_line) {
    testing::CapturedLog captured;
    Result<void> outcome = run([&]() -> Result<void> {
        auto log = WEFT_TRY(AccessLog::open(path(), {.flush_time = milliseconds(1)}));
        auto writer = spawn([&] { return log->run(); });
        write(*log);
        EXPECT_TRUE(testing::eventually([&] { return lines() == 1; }));
        std::size_t line_bytes = std::filesystem::file_size(path());
        {
            FileLimit full(line_bytes * 5 / 2);
            for (int i = 0; i < 4; ++i) write(*log);
            EXPECT_TRUE(testing::eventually([&] { return log->counters().lost.value() == 3; }));
        }
        EXPECT_TRUE(testing::eventually(
            [&] { return std::filesystem::file_size(path()) == 2 * line_bytes; }));
        write(*log);
        log->close();
        WEFT_TRY(writer.join());
        EXPECT_EQ(std::filesystem::file_size(path()), 3 * line_bytes);
        EXPECT_EQ(lines(), 3U);
        return {};
    });
    EXPECT_TRUE(outcome);
}

TEST_F(AccessLogTest, HTTP_10_lines_that_the_file_refuses_are_counted) {
    testing::CapturedLog captured;
    Result<void> outcome = run([&]() -> Result<void> {
        AccessLog log(WEFT_TRY(File::open("/dev/full", {.write = true})));
        auto writer = spawn([&] { return log.run(); });
        write(log);
        write(log);
        log.close();
        WEFT_TRY(writer.join());
        EXPECT_EQ(log.counters().lost.value(), 2U);
        return {};
    });
    EXPECT_TRUE(outcome);
    EXPECT_TRUE(captured.contains("2 lines lost"));
}

}  // namespace
}  // namespace weft::http
