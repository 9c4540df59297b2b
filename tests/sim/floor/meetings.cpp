#include "tests/sim/floor/meetings.h"

#include <deque>
#include <memory>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/barrier.h"
#include "weft/sync/event.h"
#include "weft/sync/gate.h"
#include "weft/sync/once.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/wait_group.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;

void require_time_out(const Result<void>& waited, Deadline deadline) {
    require(waited || is_error(waited, ErrorKind::TimedOut), "a wait gave an odd error");
    require(waited || deadline.expired(Clock::now()), "a wait timed out early");
}

Deadline some_deadline() { return coin() ? Deadline::after(up_to_us(30)) : Deadline::never(); }

}  // namespace

// Never more permits out than there are, and all of them back in the end.
void semaphore_permits() {
    Runtime runtime({.workers = some_workers()});
    auto permits = static_cast<std::uint64_t>(between(1, 3));
    Semaphore semaphore(permits);
    std::uint64_t out = 0;
    Crew crew(runtime);
    for (int i = between(2, 5); i > 0; --i) {
        crew.add([&] {
            for (int round = between(1, 3); round > 0; --round) {
                std::uint64_t count = 1 + random_below(permits);
                Deadline deadline = some_deadline();
                Result<void> acquired = semaphore.acquire_until(deadline, count);
                require_time_out(acquired, deadline);
                if (!acquired) continue;
                out += count;
                require(out <= permits, "more permits are out than there are");
                if (coin()) yield();
                out -= count;
                semaphore.release(count);
            }
        });
    }
    crew.join();
    require(semaphore.available() == permits, "a permit was lost or made");
}

// Those who wait are served in the order in which they came, however much they want.
void semaphore_order() {
    Runtime runtime({.workers = some_workers()});
    Semaphore semaphore(0);
    int count = between(2, 4);
    std::deque<Watched> watched(static_cast<std::size_t>(count));
    std::vector<std::uint64_t> wants;
    std::uint64_t needed = 0;
    std::uint64_t released = 0;
    std::uint64_t granted = 0;
    Crew crew(runtime);
    for (int i = 0; i < count; ++i) {
        wants.push_back(1 + random_below(3));
        needed += wants.back();
        std::uint64_t before = needed;
        Watched& here = watched[static_cast<std::size_t>(i)];
        crew.add([&, before, want = wants.back()] {
            here.here();
            require(semaphore.acquire(want).has_value(), "a wait was cancelled by nobody");
            granted += want;
            require(released >= before, "somebody was served before those in front");
        });
        here.await_waiting();
    }
    while (released < needed) {
        ++released;
        semaphore.release();
        if (coin()) static_cast<void>(sleep_for(up_to_us(5)));
    }
    crew.join();
    require(granted == needed, "somebody was forgotten");
}

// The first in the queue wants too much and gives up: those behind it are served without a release.
void semaphore_giving_up() {
    Runtime runtime({.workers = some_workers()});
    auto permits = static_cast<std::uint64_t>(between(1, 3));
    Semaphore semaphore(permits);
    std::uint64_t granted = 0;
    Crew crew(runtime);
    crew.add([&] {
        Deadline deadline = Deadline::after(up_to_us(30));
        Result<void> acquired = semaphore.acquire_until(deadline, permits + 1);
        require(!acquired.has_value(), "there were more permits than there are");
        require_time_out(acquired, deadline);
    });
    for (std::uint64_t i = 0; i < permits; ++i) {
        crew.add([&] {
            require(semaphore.acquire().has_value(), "a wait was cancelled by nobody");
            ++granted;
        });
    }
    crew.join();
    require(granted == permits && semaphore.available() == 0, "somebody was forgotten");
}

// Used again and again, and gone as soon as the wait returns.
void wait_group_rounds() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int round = between(1, 3); round > 0; --round) {
        int count = between(1, 3);
        auto group = std::make_unique<WaitGroup>(static_cast<std::uint64_t>(count));
        int done = 0;
        for (int i = 0; i < count; ++i) {
            crew.add([&group = *group, &done] {
                some_yields();
                ++done;
                group.done();
            });
        }
        Deadline deadline = some_deadline();
        Result<void> waited = group->wait_until(deadline);
        require_time_out(waited, deadline);
        if (!waited) require(group->wait().has_value(), "a wait was cancelled by nobody");
        require(done == count, "the wait returned early");
        group.reset();
        crew.join();
    }
}

// One runs, the others wait for it; after a failure the next one tries.
void once_attempts() {
    Runtime runtime({.workers = some_workers()});
    Once once;
    int failures = between(0, 2);
    int running = 0;
    int runs = 0;
    Crew crew(runtime);
    for (int i = between(failures + 1, 5); i > 0; --i) {
        crew.add([&] {
            Deadline deadline = coin() ? Deadline::after(up_to_us(30)) : Deadline::never();
            bool ran = false;
            Result<void> called = once.call_until(deadline, [&]() -> Result<void> {
                ran = true;
                require(++running == 1, "two run at once");
                require(runs <= failures, "it ran again after it had succeeded");
                if (coin()) static_cast<void>(sleep_for(up_to_us(20)));
                --running;
                if (runs++ < failures) return ErrorKind::Refused;
                return {};
            });
            if (called) {
                require(once.is_done() && running == 0, "a call returned before it was done");
            } else if (ran) {
                require(is_error(called, ErrorKind::Refused), "the failure was lost");
            } else {
                require_time_out(called, deadline);
            }
        });
    }
    crew.join();
    // Some may have given up before it was their turn.
    while (!once.is_done()) {
        static_cast<void>(once.call([&]() -> Result<void> {
            if (runs++ < failures) return ErrorKind::Refused;
            return {};
        }));
    }
    require(runs == failures + 1, "it ran too often, or not at all");
}

// Nobody is a phase ahead, and each phase has one that came last.
void barrier_phases() {
    Runtime runtime({.workers = some_workers()});
    int parties = between(1, 4);
    int phases = between(1, 4);
    Barrier barrier(static_cast<std::size_t>(parties));
    std::vector<int> arrived(static_cast<std::size_t>(phases), 0);
    std::vector<int> last(static_cast<std::size_t>(phases), 0);
    Crew crew(runtime);
    for (int i = 0; i < parties; ++i) {
        crew.add([&] {
            for (int phase = 0; phase < phases; ++phase) {
                auto at = static_cast<std::size_t>(phase);
                if (coin()) yield();
                ++arrived[at];
                Result<bool> came_last = barrier.arrive_and_wait();
                require(came_last.has_value(), "a wait was cancelled by nobody");
                require(arrived[at] == parties, "somebody went on alone");
                if (*came_last) ++last[at];
            }
        });
    }
    crew.join();
    for (int count : last) require(count == 1, "not exactly one came last");
}

// Some give up and come again, one leaves for good: the others still meet.
void barrier_deserters() {
    Runtime runtime({.workers = some_workers()});
    int parties = between(2, 4);
    Barrier barrier(static_cast<std::size_t>(parties));
    int present = 0;
    int passed = 0;
    bool leaves = coin();
    Crew crew(runtime);
    for (int i = 0; i < parties; ++i) {
        crew.add([&, leaver = leaves && i == 0] {
            if (leaver) {
                static_cast<void>(sleep_for(up_to_us(20)));
                ++present;
                return barrier.arrive_and_drop();
            }
            for (;;) {
                Deadline deadline = coin() ? Deadline::after(up_to_us(20)) : Deadline::never();
                ++present;
                Result<bool> met = barrier.arrive_and_wait_until(deadline);
                if (met) {
                    require(present == parties, "the barrier opened without somebody");
                    ++passed;
                    return;
                }
                // Nobody has passed, so nobody needs this arrival.
                require(is_error(met, ErrorKind::TimedOut), "a wait gave an odd error");
                --present;
            }
        });
    }
    crew.join();
    require(passed == parties - (leaves ? 1 : 0), "somebody never passed");
}

void event_flips() {
    Runtime runtime({.workers = some_workers()});
    Event event;
    bool was_set = false;
    int woken = 0;
    int waiters = between(1, 4);
    Crew crew(runtime);
    for (int i = 0; i < waiters; ++i) {
        crew.add([&] {
            for (;;) {
                Deadline deadline = some_deadline();
                Result<void> waited = event.wait_until(deadline);
                require_time_out(waited, deadline);
                if (!waited) continue;
                require(was_set, "a wait returned before anything had happened");
                ++woken;
                return;
            }
        });
    }
    // Set and reset at once: those who waited are woken, latecomers wait for the next time.
    while (woken < waiters) {
        static_cast<void>(sleep_for(up_to_us(20)));
        was_set = true;
        event.set();
        if (coin()) event.reset();
    }
    crew.join();
}

// Nobody gets in after the close, and the close waits for those inside.
void gate_closing() {
    Runtime runtime({.workers = some_workers()});
    Gate gate;
    int inside = 0;
    bool gone = false;
    Crew crew(runtime);
    for (int i = between(1, 4); i > 0; --i) {
        crew.add([&] {
            for (int round = between(1, 4); round > 0; --round) {
                bool late = gone;
                Result<Gate::Hold> hold = gate.hold();
                if (!hold) return require(is_error(hold, ErrorKind::Closed), "an odd error");
                require(!late, "somebody got in after the close");
                ++inside;
                if (coin()) static_cast<void>(sleep_for(up_to_us(10)));
                require(!gone, "the close did not wait");
                --inside;
            }
        });
    }
    static_cast<void>(sleep_for(up_to_us(30)));
    Deadline deadline = some_deadline();
    Result<void> all_left = gate.close_until(deadline);
    require_time_out(all_left, deadline);
    if (!all_left) require(gate.close().has_value(), "a wait was cancelled by nobody");
    require(inside == 0, "the close returned while somebody was inside");
    gone = true;
    crew.join();
    require(is_error(gate.enter(), ErrorKind::Closed), "a closed gate opened");
}

// Things that may be destroyed by the one who waited, while the other is still on its way out.
void ended_before_the_waker() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int round = between(1, 3); round > 0; --round) {
        auto event = std::make_unique<Event>();
        auto gate = std::make_unique<Gate>();
        require(gate->enter().has_value(), "an open gate refused");
        crew.add([&event = *event] { event.set(); });
        crew.add([&gate = *gate] { gate.leave(); });
        require(event->wait().has_value(), "a wait was cancelled by nobody");
        event.reset();
        require(gate->close().has_value(), "a wait was cancelled by nobody");
        gate.reset();
        crew.join();
    }
}

}  // namespace weft::sim::scenarios
