// Files that are not in the page cache are sent without holding up the worker.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "weft/fiber/blocking.h"
#include "weft/fiber/fiber.h"
#include "weft/net/internal/calls.h"
#include "weft/net/socket.h"
#include "weft/sync/event.h"
#include "weft/testing/sockets.h"
#include "weft/testing/tls_peers.h"

namespace weft::net {
namespace {

using namespace testing;

constexpr std::size_t kBytes = 3 << 20;

// Removes that part from the page cache; false if it stays, as in a file system in memory.
bool forget(const TemporaryFile& file, std::size_t offset = 0, std::size_t count = kBytes) {
    EXPECT_EQ(::fsync(file.fd()), 0);
    EXPECT_EQ(::posix_fadvise(file.fd(), static_cast<off_t>(offset), static_cast<off_t>(count),
                              POSIX_FADV_DONTNEED),
              0);
    return calls::is_cached(file.fd(), offset, count) == calls::Cached::No;
}

void read_all_of(const TemporaryFile& file) {
    std::string text(kBytes, '\0');
    EXPECT_EQ(::pread(file.fd(), text.data(), text.size(), 0), static_cast<ssize_t>(kBytes));
}

bool can_tell(const TemporaryFile& file) {
    read_all_of(file);
    return calls::is_cached(file.fd(), 0, kBytes) != calls::Cached::Unknown;
}

std::uint64_t jobs() { return blocking_internal::pool_here()->counters().jobs.value(); }

// What arrived at the other end, and how many reads were handed over to another thread for it.
struct Sent {
    Result<void> outcome;
    std::string text;
    std::uint64_t handed_over = 0;
};

Result<Sent> send(std::unique_ptr<Stream> from, Stream& to, int file, std::uint64_t offset,
                  std::uint64_t count) {
    std::uint64_t before = jobs();
    auto receiving = spawn([&] { return read_to_end(to); });
    Sent sent;
    sent.outcome = from->send_file(file, offset, count, in_ten_seconds());
    static_cast<void>(from->shutdown_write(in_ten_seconds()));
    sent.text = WEFT_TRY(receiving.join());
    sent.handed_over = jobs() - before;
    return sent;
}

Result<Sent> send_by_tcp(int file, std::uint64_t offset, std::uint64_t count) {
    Connection connection = WEFT_TRY(tcp_connection());
    return send(std::make_unique<Socket>(std::move(connection.server)), connection.client, file,
                offset, count);
}

Result<Sent> send_by_tls(int file, std::uint64_t offset, std::uint64_t count) {
    Contexts contexts = WEFT_TRY(Contexts::create());
    Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
    return send(std::move(peers.server), *peers.client, file, offset, count);
}

using Send = Result<Sent> (*)(int, std::uint64_t, std::uint64_t);

void expect_whole(Send send_by, const TemporaryFile& file, bool is_cold) {
    in_runtime(1, [&]() -> Result<void> {
        Sent sent = WEFT_TRY(send_by(file.fd(), 0, kBytes));
        EXPECT_TRUE(sent.outcome) << sent.outcome.error().message();
        EXPECT_TRUE(sent.text == file.text());
        EXPECT_EQ(sent.handed_over > 0, is_cold) << sent.handed_over;
        return {};
    });
}

TEST(ColdFile, NET_8a_a_socket_reads_by_another_thread_only_what_is_not_in_memory) {
    TemporaryFile file(kBytes);
    if (!can_tell(file)) GTEST_SKIP() << "this file system cannot tell";
    expect_whole(send_by_tcp, file, false);
    if (!forget(file)) GTEST_SKIP() << "this file system is in memory";
    expect_whole(send_by_tcp, file, true);
    read_all_of(file);
    EXPECT_TRUE(forget(file, 1 << 20, 1 << 20));
    expect_whole(send_by_tcp, file, true);
    expect_whole(send_by_tcp, file, false);
}

TEST(ColdFile, NET_8b_tls_reads_by_another_thread_only_what_is_not_in_memory) {
    TemporaryFile file(kBytes);
    if (!can_tell(file)) GTEST_SKIP() << "this file system cannot tell";
    expect_whole(send_by_tls, file, false);
    if (!forget(file)) GTEST_SKIP() << "this file system is in memory";
    expect_whole(send_by_tls, file, true);
    read_all_of(file);
    EXPECT_TRUE(forget(file, 1 << 20, 1 << 20));
    expect_whole(send_by_tls, file, true);
    expect_whole(send_by_tls, file, false);
}

// A file system in memory has no uncached files, but does not say so for single reads.
TEST(ColdFile, NET_8b_a_file_in_memory_is_read_by_nobody_else) {
    int memory = ::memfd_create("weft", MFD_CLOEXEC);
    ASSERT_GE(memory, 0);
    std::string text(kBytes, 'm');
    ASSERT_EQ(::write(memory, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    if (calls::is_cached(memory, 0, kBytes) == calls::Cached::Unknown)
        GTEST_SKIP() << "this kernel cannot tell";
    in_runtime(1, [&]() -> Result<void> {
        for (Send send_by : {send_by_tcp, send_by_tls}) {
            Sent sent = WEFT_TRY(send_by(memory, 0, kBytes));
            EXPECT_TRUE(sent.text == text);
            EXPECT_EQ(sent.handed_over, 0U);
        }
        return {};
    });
    ::close(memory);
}

// The kernel cannot tell whether reading the file would wait, so another thread reads it first.
TEST(ColdFile, NET_8b_a_file_of_which_nothing_is_known_is_read_by_another_thread_first) {
    int version = ::open("/proc/version", O_RDONLY | O_CLOEXEC);
    std::string text(1000, '\0');
    ssize_t size = ::pread(version, text.data(), text.size(), 0);
    if (size <= 0) GTEST_SKIP() << "there is no /proc/version";
    text.resize(static_cast<std::size_t>(size));
    in_runtime(1, [&]() -> Result<void> {
        for (Send send_by : {send_by_tcp, send_by_tls}) {
            Sent sent = WEFT_TRY(send_by(version, 0, text.size()));
            EXPECT_EQ(sent.text, text);
            EXPECT_EQ(sent.handed_over, 1U);
        }
        return {};
    });
    ::close(version);
}

// The only thread of the blocking pool is busy: a read on the worker would send the file anyway,
// while a read that waits for the pool lets the other fibers of the worker run.
void expect_the_worker_runs_on(Send send_by) {
    TemporaryFile file(kBytes);
    if (!forget(file)) GTEST_SKIP() << "this file system is in memory";
    Result<void> outcome = run(
        [&]() -> Result<void> {
            Event busy;
            Event go_on;
            auto occupying = spawn([&] {
                return blocking([&]() -> Result<void> {
                    busy.set();
                    return go_on.wait();
                });
            });
            WEFT_TRY(busy.wait());
            auto sending = spawn([&] { return send_by(file.fd(), 0, kBytes); });
            const BlockingPool& pool = *blocking_internal::pool_here();
            // This fiber shares the worker with the one that sends.
            for (int i = 0; i < 10'000'000 && pool.queued() == 0; ++i) yield();
            for (int i = 0; i < 1000; ++i) yield();
            EXPECT_EQ(pool.queued(), 1U);
            go_on.set();
            Sent sent = WEFT_TRY(sending.join());
            EXPECT_TRUE(sent.outcome);
            EXPECT_TRUE(sent.text == file.text());
            return occupying.join();
        },
        {.workers = 1, .blocking_threads = 1});
    EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST(ColdFile, NET_8c_a_worker_runs_on_while_the_disk_is_waited_for) {
    expect_the_worker_runs_on(send_by_tcp);
}

TEST(ColdFile, NET_8c_a_worker_runs_on_while_the_disk_is_waited_for_by_tls) {
    expect_the_worker_runs_on(send_by_tls);
}

TEST(ColdFile, NET_8d_a_file_that_has_shrunk_or_grown_is_sent_as_far_as_was_asked) {
    for (Send send_by : {send_by_tcp, send_by_tls}) {
        for (bool is_cold : {false, true}) {
            TemporaryFile file(kBytes);
            if (is_cold) forget(file);
            constexpr std::size_t kLess = (1 << 20) + 77;
            in_runtime(1, [&]() -> Result<void> {
                Sent part = WEFT_TRY(send_by(file.fd(), 5, 1000));
                EXPECT_TRUE(part.text == file.text().substr(5, 1000));
                EXPECT_EQ(::ftruncate(file.fd(), kLess), 0);
                if (is_cold) forget(file);
                Sent shrunk = WEFT_TRY(send_by(file.fd(), 0, kBytes));
                EXPECT_EQ(kind_of(shrunk.outcome), ErrorKind::Closed);
                EXPECT_EQ(shrunk.outcome.error().message(), "the file ends too early");
                EXPECT_TRUE(shrunk.text == file.text().substr(0, kLess));
                Sent behind = WEFT_TRY(send_by(file.fd(), kBytes, 1));
                EXPECT_EQ(kind_of(behind.outcome), ErrorKind::Closed);
                EXPECT_EQ(::ftruncate(file.fd(), 2 * kBytes), 0);
                Sent grown = WEFT_TRY(send_by(file.fd(), kLess - 10, 20));
                EXPECT_TRUE(grown.text == file.text().substr(kLess - 10, 10) + std::string(10, 0));
                return {};
            });
        }
    }
}

TEST(ColdFile, NET_8d_a_file_that_cannot_be_read_is_an_error) {
    in_runtime(1, []() -> Result<void> {
        for (Send send_by : {send_by_tcp, send_by_tls}) {
            Sent closed = WEFT_TRY(send_by(-1, 0, 10));
            EXPECT_EQ(native_error_of(closed.outcome), EBADF);
            int folder = ::open("/tmp", O_RDONLY | O_DIRECTORY);
            Sent no_file = WEFT_TRY(send_by(folder, 0, 10));
            EXPECT_EQ(native_error_of(no_file.outcome), EISDIR);
            ::close(folder);
        }
        return {};
    });
}

TEST(ColdFile, NET_8d_a_cancelled_fiber_does_not_wait_for_a_thread) {
    TemporaryFile file(kBytes);
    if (!forget(file)) GTEST_SKIP() << "this file system is in memory";
    in_runtime(1, [&]() -> Result<void> {
        CancelSource source;
        source.cancel();
        CancelScope scope(source.token());
        auto [near, far] = WEFT_TRY(Socket::make_pair());
        EXPECT_EQ(kind_of(near.send_file(file.fd(), 0, kBytes)), ErrorKind::Cancelled);
        return {};
    });
}

}  // namespace
}  // namespace weft::net
