#include "tests/sim/floor/cancellation.h"

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/channel.h"
#include "weft/sync/semaphore.h"

namespace weft::sim::scenarios {

using namespace std::chrono_literals;

void cancel_tree() {
    Runtime runtime({.workers = some_workers()});
    int ended = 0;
    Result<void> result =
        runtime
            .spawn([&] {
                CancelSource source;
                std::vector<Future<void>> children;
                int count = between(1, 4);
                {
                    CancelScope scope(source.token());
                    for (int i = 0; i < count; ++i) {
                        children.push_back(spawn([] {
                            Future<void> inner = spawn([] { return park(); });
                            if (coin()) yield();
                            Result<void> outcome = inner.join();
                            if (outcome) fail("a parked fiber woke without a reason");
                            // The join itself may be cancelled before the inner fiber has ended.
                            if (!inner) return;
                            outcome = shield(Deadline::never(), [&] { return inner.join(); });
                            require(is_error(outcome, ErrorKind::Cancelled),
                                    "a fiber missed the cancel");
                        }));
                    }
                }
                some_yields();
                source.cancel();
                for (auto& child : children) {
                    require(child.join().has_value(), "a child failed");
                    ++ended;
                }
            })
            .join();
    require(result.has_value() && ended > 0, "the parent failed");
}

// Children and grandchildren of a token are made while it is cancelled: none escapes.
void cancel_while_spawning() {
    Runtime runtime({.workers = some_workers()});
    CancelSource root = CancelSource::detached();
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            CancelScope outer(root.token());
            for (;;) {
                CancelSource source;
                CancelScope inner(source.token());
                if (coin()) some_yields();
                Result<void> slept = coin() ? checkpoint() : sleep_for(up_to_us(5));
                if (slept) continue;
                require(is_error(slept, ErrorKind::Cancelled), "another reason than the cancel");
                require(source.token().reason() == CancelReason::Cancelled, "the child is live");
                // From here on nothing waits.
                require(is_error(sleep_for(1h), ErrorKind::Cancelled), "a wait after the end");
                return;
            }
        });
    }
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(30)));
        root.cancel();
    });
}

// The earlier of the own and the parent's deadline ends a wait, as TimedOut, and never too early.
void deadline_tokens() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 4); i > 0; --i) {
        crew.add([] {
            Deadline first = Deadline::after(up_to_us(300));
            Deadline second = coin() ? first : Deadline::after(up_to_us(300));
            CancelSource outer = CancelSource::detached(first);
            CancelScope outer_scope(outer.token());
            CancelSource inner = CancelSource::with_deadline(second);
            require(inner.token().deadline() == earlier(first, second), "not the earlier one");
            std::optional<CancelScope> inner_scope;
            if (coin()) inner_scope.emplace(inner.token());
            Deadline expected = inner_scope ? earlier(first, second) : first;
            Deadline own = coin() ? Deadline::after(up_to_us(300)) : Deadline::never();
            Result<void> slept = sleep_until(own);
            Instant now = Clock::now();
            if (slept) {
                require(own.expired(now), "a sleep ended early");
            } else {
                require(is_error(slept, ErrorKind::TimedOut), "a deadline is not a cancellation");
                require(expected.expired(now), "a deadline came early");
                require(CancelToken::current().reason() == CancelReason::DeadlineExceeded,
                        "the token does not know its reason");
            }
        });
    }
}

// What runs in a shield ends by itself or by the shield's own deadline.
void shielded() {
    Runtime runtime({.workers = some_workers()});
    CancelSource source = CancelSource::detached();
    bool cancelled = false;
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(source.token());
            static_cast<void>(sleep_for(up_to_us(50)));
            std::chrono::microseconds work = up_to_us(60);
            std::chrono::microseconds limit = up_to_us(120);
            Instant begun = Clock::now();
            Result<void> rolled_back =
                shield(Deadline::after(limit), [work] { return sleep_for(work); });
            Nanoseconds lasted = Clock::now() - begun;
            if (rolled_back) {
                require(lasted >= work, "the work in a shield was cut short");
            } else {
                require(is_error(rolled_back, ErrorKind::TimedOut), "a shield was pierced");
                require(lasted >= limit, "a shield fell before its deadline");
            }
            Result<void> after = sleep_for(1h);
            require(is_error(after, ErrorKind::Cancelled) && cancelled,
                    "the cancellation was forgotten behind the shield");
        });
    }
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(150)));
        cancelled = true;
        source.cancel();
    });
}

// A token given to one call, beside the ambient one.
void explicit_token() {
    Runtime runtime({.workers = some_workers()});
    CancelSource ambient = CancelSource::detached();
    CancelSource given =
        CancelSource::detached(coin() ? Deadline::after(up_to_us(200)) : Deadline::never());
    std::array<bool, 2> cancelled{};
    Channel<int> channel(0);
    Semaphore semaphore(0);
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(ambient.token());
            Deadline deadline = coin() ? Deadline::after(up_to_us(300)) : Deadline::never();
            Result<void> waited;
            if (coin()) {
                waited = semaphore.acquire_until(deadline, 1, given.token());
            } else {
                Result<int> item = channel.receive_until(deadline, given.token());
                require(!item.has_value(), "an item came from nowhere");
                waited = item.error();
            }
            require(!waited.has_value(), "a permit came from nowhere");
            bool timed_out = waited.error().kind() == ErrorKind::TimedOut;
            Instant now = Clock::now();
            bool time_is_up = deadline.expired(now) || given.token().deadline().expired(now);
            require(timed_out || waited.error().kind() == ErrorKind::Cancelled, "an odd error");
            require(timed_out ? time_is_up : cancelled[0] || cancelled[1], "it ended too early");
        });
    }
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(300)));
        cancelled[0] = true;
        given.cancel();
    });
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(300)));
        cancelled[1] = true;
        ambient.cancel();
    });
}

namespace {

struct Listener : CancelListener {
    Listener() : CancelListener(on_cancel) {}
    static void on_cancel(CancelListener& listener, CancelReason reason) {
        auto& self = static_cast<Listener&>(listener);
        require(self.listening, "a listener was called after stop()");
        require(reason == CancelReason::Cancelled, "a listener was told another reason");
        env::step();
        require(self.listening, "stop() returned during the call");
        ++self.calls;
    }
    bool listening = false;
    int calls = 0;
};

}  // namespace

// Called once or not at all, and never after stop() has returned.
void cancel_listeners() {
    Runtime runtime({.workers = some_workers()});
    CancelSource source = CancelSource::detached();
    bool cancelled = false;
    Crew crew(runtime);
    for (int i = between(1, 4); i > 0; --i) {
        crew.add([&] {
            bool before = cancelled;
            {
                Listener listener;
                listener.listening = true;
                listener.listen(source.token().state());
                some_yields();
                listener.stop();
                listener.listening = false;
                require(listener.calls <= 1, "a listener was called twice");
                require(!before || listener.calls == 1, "a late listener was not called");
            }
            env::step();
        });
    }
    crew.add([&] {
        some_yields();
        source.cancel();
        cancelled = true;
    });
    crew.add([&] { source.cancel(); });
}

// Fibers that wait in many ways are cancelled at one exact step of the run.
void cancel_anywhere() {
    Runtime runtime({.workers = some_workers()});
    CancelSource source = CancelSource::detached();
    Channel<int> channel(1);
    Semaphore semaphore(1);
    int held = 0;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        source.cancel();
    });
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(source.token());
            Result<void> alive;
            for (int round = between(1, 3); round > 0 && alive; --round) {
                alive = semaphore.acquire();
                if (!alive) break;
                require(++held == 1, "a permit was given twice");
                alive = coin() ? channel.send(1) : sleep_for(up_to_us(20));
                --held;
                semaphore.release();
                if (alive && coin()) static_cast<void>(channel.try_receive());
                if (alive) alive = checkpoint();
            }
        });
    }
    crew.join();
    require(semaphore.available() == 1, "a cancelled wait took a permit along");
}

}  // namespace weft::sim::scenarios
