// The reactors by themselves, as a worker uses them. Each test runs on the one that WEFT_REACTOR
// names.
#include "weft/fiber/io/reactor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/log.h"

namespace weft {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

class RealPipe {
public:
    RealPipe() { EXPECT_EQ(env::pipe(ends_), 0); }
    ~RealPipe() {
        close_reader();
        close_writer();
    }
    int reader() const { return ends_[0]; }
    int writer() const { return ends_[1]; }
    void close_reader() { close_end(ends_[0]); }
    void close_writer() { close_end(ends_[1]); }
    void put(std::string_view text) {
        EXPECT_EQ(env::write(writer(), text.data(), text.size()), static_cast<long>(text.size()));
    }
    long take() {
        char bytes[256];
        return env::read(reader(), bytes, sizeof bytes);
    }
    // Until it takes no more.
    void fill() {
        std::vector<char> bytes(4096);
        while (env::write(writer(), bytes.data(), bytes.size()) > 0) {}
    }

private:
    static void close_end(int& fd) {
        if (fd >= 0) env::close(std::exchange(fd, -1));
    }
    int ends_[2] = {-1, -1};
};

class ReactorTest : public testing::Test {
protected:
    void SetUp() override {
        Result<std::unique_ptr<Reactor>> made = reactors::make_default();
        if (!made && made.error().kind() == ErrorKind::Unavailable)
            GTEST_SKIP() << "UNAVAILABLE: " << made.error().message();
        ASSERT_TRUE(made) << made.error().message();
        reactor_ = std::move(*made);
    }

    // Waits for at least one event, at most ten seconds; nothing more may have come than fits.
    std::vector<IoEvent> wait() {
        std::array<IoEvent, 16> events;
        std::int64_t until = env::now_ns() + 10 * kSecondNs;
        while (env::now_ns() < until) {
            if (std::size_t count = reactor_->poll(events, until))
                return {events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count)};
        }
        return {};
    }
    // What is there by now. A second look, because the first one may only hand in what was asked.
    std::vector<IoEvent> look() {
        std::array<IoEvent, 16> events;
        std::vector<IoEvent> all;
        for (int i = 0; i < 2; ++i) {
            std::size_t count = reactor_->poll(events, 0);
            all.insert(all.end(), events.begin(),
                       events.begin() + static_cast<std::ptrdiff_t>(count));
        }
        return all;
    }
    // All events for one ticket joined.
    static unsigned mask_of(const std::vector<IoEvent>& events, Ticket ticket) {
        unsigned mask = 0;
        for (const IoEvent& event : events) {
            if (event.registration == ticket) mask |= event.events;
        }
        return mask;
    }

    std::unique_ptr<Reactor> reactor_;
};

constexpr Ticket kFirst{1, 1};
constexpr Ticket kSecond{2, 7};

TEST_F(ReactorTest, RCT_1_the_environment_chooses) {
    if (const char* chosen = std::getenv("WEFT_REACTOR")) {
        EXPECT_STREQ(reactor_->name(), chosen);
    } else {
        EXPECT_FALSE(std::string(reactor_->name()).empty());
    }
}

TEST_F(ReactorTest, RCT_1_an_unknown_name_is_refused) {
    const char* chosen = std::getenv("WEFT_REACTOR");
    std::optional<std::string> before;
    if (chosen) before = chosen;
    ::setenv("WEFT_REACTOR", "completion-ports", 1);
    Result<std::unique_ptr<Reactor>> made = reactors::make_default();
    if (before) {
        ::setenv("WEFT_REACTOR", before->c_str(), 1);
    } else {
        ::unsetenv("WEFT_REACTOR");
    }
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind(), ErrorKind::Misuse);
}

// The bodies of processes of their own; they exit with 0 when all is well.

class ReactorLines final : public LogSink {
public:
    void line(LogLevel level, std::string_view text) noexcept override {
        if (level != LogLevel::Info || text.find("reactor") == text.npos) return;
        ++count;
        last = text;
    }
    int count = 0;
    std::string last;
};

// Without a wish: the mixed one, or epoll where the kernel refuses a ring; and the log names it.
[[noreturn]] void make_the_best_and_read_the_log() {
    ::unsetenv("WEFT_REACTOR");
    ReactorLines lines;
    set_log_level(LogLevel::Info);
    set_log_sink(&lines);
    std::string best = reactors::make_uring() ? "mixed" : "epoll";
    Result<std::unique_ptr<Reactor>> made = reactors::make_default();
    bool right = made && (*made)->name() == best;
    std::_Exit(right && lines.last.find("reactor: " + best) != std::string::npos ? 0 : 1);
}

[[noreturn]] void make_two_and_count_the_lines() {
    ReactorLines lines;
    set_log_level(LogLevel::Info);
    set_log_sink(&lines);
    bool made = reactors::make_default() && reactors::make_default();
    std::_Exit(made && lines.count == 1 ? 0 : 1);
}

// A filter of system calls, as containers have it.
[[noreturn]] void make_where_io_uring_is_refused() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) std::_Exit(2);
    Result<std::unique_ptr<Reactor>> made = reactors::make_uring();
    bool clean = !made && made.error().kind() == ErrorKind::Unavailable;
    ::unsetenv("WEFT_REACTOR");
    // Without a wish the other one does.
    std::_Exit(clean && reactors::make_default() ? 0 : 1);
}

[[noreturn]] void make_without_descriptors() {
    rlimit none{3, 3};
    ::setrlimit(RLIMIT_NOFILE, &none);
    Result<std::unique_ptr<Reactor>> made = reactors::make_default();
    std::_Exit(!made && made.error().kind() == ErrorKind::OutOfFds ? 0 : 1);
}

TEST_F(ReactorTest, RCT_1d_the_best_is_the_default_and_is_named_in_the_log) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(make_the_best_and_read_the_log(), testing::ExitedWithCode(0), "");
}

TEST_F(ReactorTest, RCT_1d_the_choice_is_logged_once) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process: once is once a process
    EXPECT_EXIT(make_two_and_count_the_lines(), testing::ExitedWithCode(0), "");
}

TEST_F(ReactorTest, RCT_1_io_uring_that_the_kernel_refuses_is_unavailable) {
    if (::prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "UNAVAILABLE: no filters of system calls";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(make_where_io_uring_is_refused(), testing::ExitedWithCode(0), "");
}

TEST_F(ReactorTest, RCT_1_out_of_descriptors_is_told) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(make_without_descriptors(), testing::ExitedWithCode(0), "");
}

TEST_F(ReactorTest, RCT_1_what_is_ready_at_registration_is_told) {
    RealPipe pipe;
    pipe.put("x");
    ASSERT_TRUE(reactor_->add(pipe.reader(), kFirst));
    EXPECT_EQ(mask_of(wait(), kFirst), kReadable);
    reactor_->remove(pipe.reader(), kFirst);
}

TEST_F(ReactorTest, RCT_1_an_edge_is_told_once) {
    RealPipe pipe;
    ASSERT_TRUE(reactor_->add(pipe.reader(), kFirst));
    EXPECT_TRUE(look().empty());
    pipe.put("x");
    EXPECT_EQ(mask_of(wait(), kFirst), kReadable);
    EXPECT_TRUE(look().empty());
    pipe.put("y");
    EXPECT_EQ(mask_of(wait(), kFirst), kReadable);
    reactor_->remove(pipe.reader(), kFirst);
}

TEST_F(ReactorTest, RCT_1_room_in_a_full_pipe_is_told) {
    RealPipe pipe;
    pipe.fill();
    ASSERT_TRUE(reactor_->add(pipe.writer(), kSecond));
    EXPECT_TRUE(look().empty());
    while (pipe.take() > 0) {}
    EXPECT_EQ(mask_of(wait(), kSecond) & kWritable, kWritable);
    reactor_->remove(pipe.writer(), kSecond);
}

TEST_F(ReactorTest, RCT_1_the_end_of_the_writer_is_a_hang_up) {
    RealPipe pipe;
    pipe.put("last words");
    ASSERT_TRUE(reactor_->add(pipe.reader(), kFirst));
    EXPECT_EQ(mask_of(wait(), kFirst), kReadable);
    pipe.close_writer();
    EXPECT_EQ(mask_of(wait(), kFirst) & (kReadable | kHangUp), kReadable | kHangUp);
    reactor_->remove(pipe.reader(), kFirst);
}

TEST_F(ReactorTest, RCT_1_the_end_of_the_reader_is_a_failure) {
    RealPipe pipe;
    pipe.fill();
    ASSERT_TRUE(reactor_->add(pipe.writer(), kFirst));
    EXPECT_TRUE(look().empty());
    pipe.close_reader();
    EXPECT_EQ(mask_of(wait(), kFirst) & (kWritable | kFailed), kWritable | kFailed);
    reactor_->remove(pipe.writer(), kFirst);
}

TEST_F(ReactorTest, RCT_1_after_remove_nothing_new_is_told) {
    RealPipe pipe;
    ASSERT_TRUE(reactor_->add(pipe.reader(), kFirst));
    EXPECT_TRUE(look().empty());
    reactor_->remove(pipe.reader(), kFirst);
    look();
    pipe.put("x");
    EXPECT_EQ(mask_of(look(), kFirst) & ~unsigned{kEnded}, 0U);
}

TEST_F(ReactorTest, RCT_1_a_number_that_comes_again_has_its_own_ticket) {
    RealPipe old_pipe;
    int number = old_pipe.reader();
    ASSERT_TRUE(reactor_->add(number, kFirst));
    look();
    old_pipe.put("for the old owner");
    reactor_->remove(number, kFirst);
    old_pipe.close_reader();
    RealPipe new_pipe;
    ASSERT_EQ(new_pipe.reader(), number);
    ASSERT_TRUE(reactor_->add(number, kSecond));
    EXPECT_EQ(mask_of(look(), kSecond), 0U);
    new_pipe.put("for the new one");
    std::vector<IoEvent> events = wait();
    while (mask_of(events, kSecond) == 0 && !events.empty()) events = wait();
    EXPECT_EQ(mask_of(events, kSecond), kReadable);
    reactor_->remove(number, kSecond);
}

TEST_F(ReactorTest, RCT_1_more_events_than_room_come_in_turns) {
    constexpr std::uint32_t count = 100;
    std::vector<RealPipe> pipes(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        pipes[i].put("x");
        ASSERT_TRUE(reactor_->add(pipes[i].reader(), Ticket{i, 1}));
    }
    std::vector<bool> seen(count, false);
    for (std::uint32_t i = 0, found = 0; i < 2 * count && found < count; ++i) {
        for (const IoEvent& event : wait()) {
            EXPECT_FALSE(seen[event.registration.index]);
            seen[event.registration.index] = true;
            ++found;
        }
    }
    EXPECT_EQ(std::ranges::count(seen, true), std::ptrdiff_t{count});
    for (std::uint32_t i = 0; i < count; ++i) reactor_->remove(pipes[i].reader(), Ticket{i, 1});
}

TEST_F(ReactorTest, RCT_1_another_may_look_for_the_owner) {
    RealPipe pipe;
    pipe.put("x");
    ASSERT_TRUE(reactor_->add(pipe.reader(), kFirst));
    std::array<IoEvent, 16> events;
    std::size_t count = 0;
    for (int i = 0; i < 1000 && count == 0; ++i) count = reactor_->poll_for_owner(events);
    ASSERT_EQ(count, 1U);
    EXPECT_EQ(events[0].registration, kFirst);
    EXPECT_TRUE(look().empty());
    reactor_->remove(pipe.reader(), kFirst);
}

TEST_F(ReactorTest, RCT_1_a_wake_up_before_the_sleep_counts) {
    std::array<IoEvent, 16> events;
    reactor_->wake();
    EXPECT_EQ(reactor_->poll(events, kNeverNs), 0U);  // or the test never ends
    reactor_->wake();
    reactor_->wake();
    EXPECT_EQ(reactor_->poll(events, kNeverNs), 0U);
}

TEST_F(ReactorTest, RCT_1_a_look_does_not_use_up_a_wake_up) {
    std::array<IoEvent, 16> events;
    reactor_->wake();
    reactor_->poll(events, 0);
    EXPECT_EQ(reactor_->poll(events, kNeverNs), 0U);
}

TEST_F(ReactorTest, RCT_1_another_thread_wakes_the_owner) {
    constexpr unsigned rounds = 2000;
    Atomic<unsigned> asked{0};
    Atomic<unsigned> answered{0};
    std::thread waker([&] {
        for (unsigned i = 1; i <= rounds; ++i) {
            asked.store(i, std::memory_order_seq_cst);
            reactor_->wake();
            while (answered.load(std::memory_order_seq_cst) < i) env::spin_pause(100);
        }
    });
    std::array<IoEvent, 16> events;
    for (unsigned i = 1; i <= rounds;) {
        reactor_->poll(events, kNeverNs);
        for (; i <= asked.load(std::memory_order_seq_cst); ++i)
            answered.store(i, std::memory_order_seq_cst);
    }
    waker.join();
}

TEST_F(ReactorTest, RCT_1_no_wake_up_is_lost_to_one_who_looks_for_the_owner) {
    constexpr unsigned rounds = 2000;
    Atomic<unsigned> asked{0};
    Atomic<unsigned> answered{0};
    Atomic<bool> over{false};
    std::thread watchman([&] {
        std::array<IoEvent, 16> events;
        while (!over.load(std::memory_order_seq_cst)) {
            reactor_->poll_for_owner(events);
            env::spin_pause(100);
        }
    });
    std::thread waker([&] {
        for (unsigned i = 1; i <= rounds; ++i) {
            asked.store(i, std::memory_order_seq_cst);
            reactor_->wake();
            while (answered.load(std::memory_order_seq_cst) < i) env::spin_pause(100);
        }
    });
    std::array<IoEvent, 16> events;
    for (unsigned i = 1; i <= rounds;) {
        reactor_->poll(events, kNeverNs);
        for (; i <= asked.load(std::memory_order_seq_cst); ++i)
            answered.store(i, std::memory_order_seq_cst);
    }
    over.store(true, std::memory_order_seq_cst);
    waker.join();
    watchman.join();
}

std::int64_t cpu_time_ns() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);  // tidy: allow clock: of a processor's work
    return used.tv_sec * kSecondNs + used.tv_nsec;
}

TEST_F(ReactorTest, RCT_3_a_sleep_ends_by_its_deadline_and_not_before) {
    constexpr std::int64_t sleep_ns = 2'345'678;
    constexpr int sleeps = 20;
    std::array<IoEvent, 16> events;
    look();
    std::int64_t best_ns = kSecondNs;
    std::int64_t used_before_ns = cpu_time_ns();
    for (int i = 0; i < sleeps; ++i) {
        std::int64_t deadline = env::now_ns() + sleep_ns;
        std::int64_t now = 0;
        // A reactor may return early for reasons of its own; it is not late then.
        while ((now = env::now_ns()) < deadline) reactor_->poll(events, deadline);
        best_ns = std::min(best_ns, now - deadline);
    }
    EXPECT_LT(cpu_time_ns() - used_before_ns, sleeps * sleep_ns / 2) << "it does not wait";
    EXPECT_LT(best_ns, 1'000'000);
}

TEST_F(ReactorTest, RCT_3_a_deadline_in_the_past_does_not_wait) {
    std::array<IoEvent, 16> events;
    std::int64_t before = env::now_ns();
    EXPECT_EQ(reactor_->poll(events, before - 1), 0U);
    EXPECT_EQ(reactor_->poll(events, 1), 0U);
    EXPECT_LT(env::now_ns() - before, 10 * kSecondNs);
}

}  // namespace
}  // namespace weft
