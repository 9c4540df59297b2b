#include "tests/sim/floor/blocking.h"

#include "tests/sim/floor/crew.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"

namespace weft::sim::scenarios {

using namespace std::chrono_literals;

// At most so many at once, each once, each with its own answer.
void blocking_calls() {
    int threads = between(1, 3);
    Runtime runtime(
        {.workers = some_workers(), .blocking_threads = static_cast<unsigned>(threads)});
    int running = 0;
    Crew crew(runtime);
    for (int i = between(1, 6); i > 0; --i) {
        crew.add_fiber([&, i] {
            Result<int> answer = blocking([&, i]() -> Result<int> {
                require(!current(), "a blocking call runs on a fiber");
                require(++running <= threads, "more threads than were allowed");
                if (coin()) static_cast<void>(sleep_for(up_to_us(50)));
                --running;
                if (i == 2) return ErrorKind::Refused;
                return i;
            });
            if (i == 2) return require(is_error(answer, ErrorKind::Refused), "an error was lost");
            require(answer.value_or(-1) == i, "another call's answer came");
        });
    }
    crew.add_thread([] { require(blocking([] { return 5; }).value_or(0) == 5, "lost"); });
}

// Cancelled or timed out before a thread took it: never run. Later: awaited, and its answer counts.
void blocking_cancelled() {
    Runtime runtime({.workers = some_workers(), .blocking_threads = 1});
    CancelSource source = CancelSource::detached();
    Crew crew(runtime);
    for (int i = between(1, 4); i > 0; --i) {
        crew.add_fiber([&] {
            CancelScope scope(source.token());
            bool running = false;
            bool ran = false;
            Deadline deadline = coin() ? Deadline::after(up_to_us(60)) : Deadline::never();
            Result<int> answer = blocking(
                [&] {
                    running = true;
                    // The call carries the token: a wait in it ends early.
                    static_cast<void>(sleep_for(up_to_us(60)));
                    running = false;
                    ran = true;
                    return 3;
                },
                {.start_by = deadline});
            require(!running, "a call was left running on the frame of its caller");
            require(answer.has_value() == ran, "a call ran and failed, or did not and succeeded");
            if (ran) return require(*answer == 3, "another answer came");
            require(is_error(answer, ErrorKind::Cancelled) || is_error(answer, ErrorKind::TimedOut),
                    "an odd error");
        });
    }
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(100)));
        source.cancel();
    });
}

// Threads end after ten idle seconds; the next call starts new ones.
void blocking_pool_idles() {
    Runtime runtime({.workers = some_workers(), .blocking_threads = 2});
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add_fiber([] {
            for (int round = 0; round < 3; ++round) {
                require(blocking([round] { return round; }).value_or(-1) == round, "lost");
                // Often the very moment at which a thread gives up.
                auto pause = coin() ? Nanoseconds(10s) : Nanoseconds(up_to_us(15'000'000));
                require(sleep_for(pause).has_value(), "a sleep was cancelled");
            }
        });
    }
}

// One exact step: queued, taken up, ended, or between any two of these.
void cancel_blocking_anywhere() {
    Runtime runtime({.workers = some_workers(), .blocking_threads = 1});
    CancelSource source = CancelSource::detached();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        source.cancel();
    });
    for (int i = 0; i < 2; ++i) {
        crew.add_fiber([&] {
            CancelScope scope(source.token());
            bool ran = false;
            Result<void> called = blocking([&] {
                ran = true;
                env::step();
            });
            require(called.has_value() == ran, "a call ran and failed, or the other way round");
        });
    }
}

}  // namespace weft::sim::scenarios
