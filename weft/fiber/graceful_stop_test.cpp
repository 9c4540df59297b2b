// tidy: allow-file sleep: fibers that sleep are what is looked at
#include "weft/fiber/graceful_stop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "weft/fiber/io.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

// A service in small: it serves until its listener, a pipe, is closed.
struct Service {
    explicit Service(Runtime& runtime) : pipe(make_pipe().value()) {
        serving = runtime.spawn([this] {
            std::byte buffer[16];
            while (pipe.reader.read(buffer)) {}
            closed.store(true, std::memory_order_seq_cst);
        });
    }
    Pipe pipe;
    Atomic<bool> closed{false};
    Future<void> serving;
};

TEST(GracefulStop, FIB_14e_a_signal_closes_the_listeners_and_lets_the_rest_finish) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime, {.drain = 60s}).value();
    Service service(runtime);
    stop.on_drain([&] { service.pipe.reader.close(); });
    Future<bool> in_flight = runtime.spawn([&] {
        while (!service.closed.load(std::memory_order_seq_cst)) yield();
        return sleep_for(20ms).has_value();  // a request that is still being answered
    });
    kill(getpid(), SIGTERM);
    runtime.run();
    EXPECT_TRUE(stop.has_begun());
    EXPECT_EQ(in_flight.join(), true);
    EXPECT_TRUE(service.serving.join());
    EXPECT_TRUE(runtime.shutdown());
}

TEST(GracefulStop, FIB_14e_what_does_not_end_in_time_is_cancelled) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime, {.drain = 10ms}).value();
    Future<void> stubborn = runtime.spawn([] { return sleep_for(1h); });
    kill(getpid(), SIGINT);
    runtime.run();
    EXPECT_EQ(stubborn.join().error(), ErrorKind::Cancelled);
}

TEST(GracefulStop, FIB_14e_a_second_signal_cancels_at_once) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime, {.drain = 1h}).value();
    Atomic<bool> draining{false};
    stop.on_drain([&] { draining.store(true, std::memory_order_seq_cst); });
    Future<void> stubborn = runtime.spawn([] { return sleep_for(2h); });
    kill(getpid(), SIGTERM);
    while (!draining.load(std::memory_order_seq_cst)) usleep(100);
    kill(getpid(), SIGTERM);
    runtime.run();
    EXPECT_EQ(stubborn.join().error(), ErrorKind::Cancelled);
}

TEST(GracefulStop, FIB_14e_closers_are_called_newest_first_and_late_ones_at_once) {
    Runtime runtime({.workers = 1});
    ASSERT_TRUE(runtime.start());
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    std::string order;
    stop.on_drain([&] { order += 'a'; });
    stop.on_drain([&] { order += 'b'; });
    stop.begin();
    stop.on_drain([&] { order += 'c'; });
    EXPECT_EQ(order, "bac");
}

TEST(GracefulStop, FIB_11d_sigusr1_writes_the_dump) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    Runtime runtime({.workers = 1});
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    // The worker is stuck in a fiber; the dump comes all the same.
    Atomic<bool> release{false};
    Future<void> stuck = runtime.spawn(
        [&] {
            while (!release.load(std::memory_order_relaxed)) {}
        },
        {.name = "stuck one"});
    dup2(ends[1], STDERR_FILENO);
    kill(getpid(), SIGUSR1);
    std::string text;
    char buffer[512];
    while (text.find("stuck one") == std::string::npos) {
        ssize_t count = read(ends[0], buffer, sizeof buffer);
        ASSERT_GT(count, 0);
        text.append(buffer, static_cast<std::size_t>(count));
    }
    dup2(saved, STDERR_FILENO);
    release.store(true, std::memory_order_relaxed);
    EXPECT_TRUE(stuck.join());
    for (int fd : {ends[0], ends[1], saved}) close(fd);
    EXPECT_NE(text.find("weft: 1 fibers"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft
