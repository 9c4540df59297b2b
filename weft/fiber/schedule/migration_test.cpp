// A fiber goes on in another thread: nothing that belongs to a thread may be kept over a switch.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr unsigned kWorkers = 4;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

// The kernel's own answer, asked anew each time: no compiler can keep it.
long thread_id() { return syscall(SYS_gettid); }

// Out of line, as STYLE.md asks: the address is formed anew at every call.
[[gnu::noinline]] int read_errno() {
    asm volatile("" ::: "memory");
    return errno;
}
[[gnu::noinline]] void write_errno(int value) {
    errno = value;
    asm volatile("" ::: "memory");
}

// Which thread each worker is; filled in as the fibers see them.
struct Threads {
    std::array<Atomic<long>, kWorkers> of_worker{};
    Atomic<unsigned> wrong{0};
    Atomic<unsigned> moves{0};

    // Compares what Weft says with what the kernel says.
    void check() {
        Worker* worker = this_worker();
        long thread = thread_id();
        long expected = 0;
        Atomic<long>& known = of_worker[worker->index()];
        if (!known.compare_exchange_strong(expected, thread, kRelaxed, kRelaxed) &&
            expected != thread) {
            wrong.fetch_add(1, kRelaxed);
        }
        if (worker->current() != current()) wrong.fetch_add(1, kRelaxed);
    }
};

// Everything in one function, so that the optimiser has every chance to keep an address.
void switch_and_check(Threads& threads, int kind) {
    Fiber* self = current();
    FiberId id = current_id();
    unsigned last = this_worker()->index();
    for (int i = 0; i < 200; ++i) {
        threads.check();
        switch (kind) {
        case 0: yield(); break;
        case 1: static_cast<void>(weft::sleep_for(10us)); break;
        case 2: static_cast<void>(park(Deadline::after(10us))); break;
        default: static_cast<void>(spawn([] { yield(); }).join()); break;
        }
        threads.check();
        if (current() != self || current_id() != id) threads.wrong.fetch_add(1, kRelaxed);
        unsigned now = this_worker()->index();
        if (now != last) threads.moves.fetch_add(1, kRelaxed);
        last = now;
    }
}

TEST(Migration, FIB_7e_the_worker_and_the_fiber_are_right_after_every_kind_of_switch) {
    Threads threads;
    Runtime runtime(with_workers(kWorkers));
    for (int i = 0; i < 200; ++i) runtime.spawn([&, i] { switch_and_check(threads, i % 4); });
    runtime.run();
    EXPECT_EQ(threads.wrong.load(kRelaxed), 0u);
    EXPECT_GT(threads.moves.load(kRelaxed), 0u) << "nothing has moved, nothing was tested";
}

TEST(Migration, FIB_7e_errno_is_that_of_the_thread_that_runs_the_fiber) {
    // Each worker's thread is marked by a fiber that does not switch; another one that has moved
    // there reads that thread's mark, never that of the thread it came from.
    Runtime runtime(with_workers(kWorkers));
    Atomic<unsigned> wrong{0};
    Atomic<unsigned> moves{0};
    for (int f = 0; f < 64; ++f) {
        runtime.spawn([&] {
            for (int i = 0; i < 200; ++i) {
                int mark = 1'000 + static_cast<int>(this_worker()->index());
                long before = thread_id();
                write_errno(mark);
                static_cast<void>(weft::sleep_for(5us));
                if (thread_id() != before) moves.fetch_add(1, kRelaxed);
                int seen = read_errno();
                int here = 1'000 + static_cast<int>(this_worker()->index());
                // Other code sets errno as well; what must not be seen is another worker's mark.
                if (seen >= 1'000 && seen != here) wrong.fetch_add(1, kRelaxed);
            }
        });
    }
    runtime.run();
    EXPECT_EQ(wrong.load(kRelaxed), 0u);
    EXPECT_GT(moves.load(kRelaxed), 0u) << "nothing has moved, nothing was tested";
}

TEST(Migration, FIB_7e_errors_of_the_kernel_come_by_value_and_are_right_after_a_move) {
    Runtime runtime(with_workers(kWorkers));
    Atomic<unsigned> wrong{0};
    for (int f = 0; f < 64; ++f) {
        runtime.spawn([&] {
            for (int i = 0; i < 100; ++i) {
                char byte = 0;
                if (env::read(-1, &byte, 1) != -EBADF) wrong.fetch_add(1, kRelaxed);
                yield();
                if (env::close(-1) != -EBADF) wrong.fetch_add(1, kRelaxed);
                static_cast<void>(weft::sleep_for(5us));
            }
        });
    }
    runtime.run();
    EXPECT_EQ(wrong.load(kRelaxed), 0u);
}

// Tokens, locals of the wait and the clock are looked up through the worker, too.
TEST(Migration, FIB_7e_the_ambient_token_moves_with_its_fiber) {
    Runtime runtime(with_workers(kWorkers));
    Atomic<unsigned> wrong{0};
    for (int f = 0; f < 64; ++f) {
        runtime.spawn([&, f] {
            CancelSource source;
            CancelScope scope(source.token());
            for (int i = 0; i < 100; ++i) {
                static_cast<void>(weft::sleep_for(5us));
                if (CancelToken::current().state() != source.token().state())
                    wrong.fetch_add(1, kRelaxed);
            }
            if (f % 2) source.cancel();
            if (weft::sleep_for(5us).has_value() != (f % 2 == 0)) wrong.fetch_add(1, kRelaxed);
        });
    }
    runtime.run();
    EXPECT_EQ(wrong.load(kRelaxed), 0u);
}

}  // namespace
}  // namespace weft
