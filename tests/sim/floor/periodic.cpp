#include "tests/sim/floor/periodic.h"

#include <chrono>
#include <cstdint>
#include <optional>

#include "tests/sim/floor/jobs.h"
#include "weft/async/periodic.h"
#include "weft/async/ticker.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using async::OwnedContext;
using async::PeriodicHandle;

// A job that is repeated: its runs never overlap, and an interval lies before each of them.
struct Beat {
    static constexpr int kFailure = 7;
    static constexpr int kRunsMax = 6;

    Nanoseconds interval = 1us + up_to_us(20);
    int fails_at = coin() ? between(1, 4) : 0;  // the run that fails, if any
    int runs = 0;
    bool running = false;
    bool over = false;  // from when on there must be no run
    Instant last = Clock::now();
    Watched watched;

    auto job() {
        return [this](Context& context) -> Result<void> {
            require(Context::current() == context, "the context is not the ambient one");
            require(!over, "a run after the end");
            require(!std::exchange(running, true), "two runs at once");
            require(Clock::now() - last >= interval, "a run came early");
            ++runs;
            some_yields();
            if (coin()) static_cast<void>(sleep_for(up_to_us(10)));
            running = false;
            last = Clock::now();
            watched.here();
            if (runs == fails_at) return Error(ErrorKind::Other, kFailure);
            // Then it only waits for its end, so that an interruption comes at last.
            if (runs == kRunsMax) static_cast<void>(wait_for_end(context));
            return {};
        };
    }
    bool failed() const { return fails_at != 0 && runs >= fails_at; }
    // An end that is not the job's own is `otherwise`.
    void require_end(const Result<void>& end, bool otherwise) const {
        require(!running, "a run goes on after the end");
        bool own = !end && end.error() == Error(ErrorKind::Other, kFailure);
        require(own == failed(), "an error of the job was lost, or made up");
        require(own || otherwise, "it ended for a reason that was not there");
    }
};

}  // namespace

// In the caller: until the job fails, the context ends, or the caller's own does.
void every_ends() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            OwnedContext given = Context::background(runtime).with_timeout(1us + up_to_us(100));
            OwnedContext ambient = Context::background(runtime).with_timeout(1us + up_to_us(100));
            CancelScope scope(ambient.context.token());
            Beat beat;
            Result<void> end = async::every(given.context, beat.interval, beat.job());
            bool ended = given.context.is_done() || ambient.context.is_done();
            beat.require_end(end, ended && is_end_of_context(end.error()));
        });
    }
}

// Stopped while it waits for its next run, which then does not come. Needs a clock that stands
// still meanwhile.
void periodic_stop_between() {
    Runtime runtime({.workers = some_workers()});
    Beat beat;
    beat.interval = 1ms;
    beat.fails_at = 0;
    int runs = between(1, 3);
    Event enough;
    PeriodicHandle handle =
        *start_every(Context::background(runtime), beat.interval,
                     [&beat, &enough, runs, job = beat.job()](Context& context) mutable {
                         Result<void> outcome = job(context);
                         if (beat.runs == runs) enough.set();
                         return outcome;
                     });
    require(enough.wait().has_value(), "a wait was cancelled by nobody");
    beat.watched.await_waiting();
    beat.over = Clock::now() - beat.last < beat.interval / 2;  // its time has not come meanwhile
    handle.stop();
    require(handle.wait().has_value(), "it was stopped and says something else");
}

// Stopped at one exact step, and by others as well.
void periodic_stop_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Beat beat;
    PeriodicHandle handle = *start_every(Context::background(runtime), beat.interval, beat.job());
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        handle.stop();
    });
    if (coin()) {
        crew.add([&] {
            static_cast<void>(sleep_for(up_to_us(100)));
            handle.stop();
        });
    }
    crew.add([&] {
        Result<void> end = handle.wait();
        beat.over = true;
        beat.require_end(end, end.has_value());
        require(is_fault(handle.wait(), async::kPeriodicWaited), "a second wait succeeded");
    });
    crew.join();
    if (coin()) static_cast<void>(sleep_for(1ms));
}

// The context above ends at one exact step, perhaps after a stop.
void periodic_cancel_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext owned = Context::background(runtime).with_cancel();
    Beat beat;
    auto started = start_every(owned.context, beat.interval, beat.job());
    std::optional<PeriodicHandle> handle(std::move(*started));
    bool cancelled = false;
    bool stopped = false;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        cancelled = true;
        owned.source.cancel();
    });
    crew.add([&] {
        if (coin()) {
            static_cast<void>(sleep_for(up_to_us(100)));
            stopped = true;
            handle->stop();
        }
        if (coin()) return handle.reset();
        Result<void> end = handle->wait();
        beat.over = true;
        bool by_context = !end && cancelled && is_end_of_context(end.error());
        beat.require_end(end, end ? stopped : by_context);
    });
    crew.join();
    runtime.run();
    require(!beat.running, "a run goes on after the runtime has waited for it");
}

// Ticks are due at multiples of the interval, none is early, and none is told twice.
void ticker_beats() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            OwnedContext owned = Context::background(runtime).with_timeout(1us + up_to_us(150));
            CancelScope scope(owned.context.token());
            Nanoseconds interval = 1us + up_to_us(20);
            async::Ticker ticker = *async::Ticker::create(interval);
            std::optional<Instant> last;
            for (;;) {
                Result<async::Tick> tick = ticker.next();
                if (!tick) {
                    require(owned.context.is_done(), "it ended before its context");
                    return require(is_end_of_context(tick.error()), "an odd error");
                }
                require(tick->due <= Clock::now(), "a tick came early");
                auto beats = static_cast<std::int64_t>(tick->missed) + 1;
                require(!last || tick->due - *last == beats * interval, "the beat drifts");
                last = tick->due;
                if (coin()) static_cast<void>(sleep_for(up_to_us(50)));
            }
        });
    }
}

}  // namespace weft::sim::scenarios
