// Sockets whose threads wait in the kernel's own calls.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"

namespace weft::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class KernelWait : public ::testing::Test {
protected:
    void SetUp() override {
        auto pair = Socket::make_pair();
        ASSERT_TRUE(pair);
        here_ = std::move(pair->first);
        there_ = std::move(pair->second);
        ASSERT_TRUE(here_.wait_in_kernel(milliseconds(5)));
    }
    // A read that must end within the time limit of a test.
    Result<std::size_t> read(Deadline deadline = Deadline::after(seconds(20))) {
        return here_.read(space_, deadline);
    }

    Socket here_;
    Socket there_;
    std::array<std::byte, 100> space_{};
};

TEST_F(KernelWait, HTTP_10_a_read_times_out) {
    EXPECT_EQ(read(Deadline::after(milliseconds(1))).error().kind(), ErrorKind::TimedOut);
    EXPECT_EQ(read(Deadline::after(milliseconds(20))).error().kind(), ErrorKind::TimedOut);
}

TEST_F(KernelWait, HTTP_10_the_shortest_slice_is_one_as_well) {
    ASSERT_TRUE(here_.wait_in_kernel(Nanoseconds(1)));
    EXPECT_EQ(read(Deadline::after(milliseconds(1))).error().kind(), ErrorKind::TimedOut);
}

TEST_F(KernelWait, HTTP_10_bytes_are_read_before_and_after_the_slice) {
    for (milliseconds delay : {milliseconds(0), milliseconds(1), milliseconds(20)}) {
        std::thread writer([&] {
            // It decides only whether they come early or late; the result is the same.
            EXPECT_TRUE(weft::sleep_for(delay));
            EXPECT_TRUE(there_.write_all(as_bytes("abc")));
        });
        EXPECT_EQ(read(), 3U);
        writer.join();
    }
}

TEST_F(KernelWait, HTTP_10_a_cancelled_read_ends) {
    CancelSource source = CancelSource::detached();
    std::thread canceller([&] { source.cancel(); });
    CancelScope scope(source.token());
    EXPECT_EQ(read().error().kind(), ErrorKind::Cancelled);
    canceller.join();
}

TEST_F(KernelWait, HTTP_10_a_closed_socket_ends_its_read) {
    std::thread closer([&] { here_.close(); });
    EXPECT_EQ(read().error().kind(), ErrorKind::Closed);
    closer.join();
}

TEST_F(KernelWait, HTTP_10_a_large_write_waits_for_its_reader) {
    std::string text(4'000'000, 'x');
    std::thread reader([&] {
        std::size_t count = 0;
        std::vector<std::byte> space(64 * 1024);
        while (count < text.size()) {
            auto some = there_.read(space, Deadline::after(seconds(20)));
            if (!some || *some == 0) break;
            count += *some;
        }
        EXPECT_EQ(count, text.size());
    });
    EXPECT_TRUE(here_.write_all(as_bytes(text), Deadline::after(seconds(20))));
    reader.join();
}

}  // namespace
}  // namespace weft::net
