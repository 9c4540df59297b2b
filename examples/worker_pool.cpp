// A pool: two jobs at once, three more in the queue, and whoever brings another one is told so.
#include <cstdio>

#include "weft/async/pool.h"
#include "weft/base/atomic.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/event.h"

using weft::Atomic;
using weft::Event;
using weft::Result;
using weft::sleep_for;
using namespace weft::async;
using namespace std::chrono_literals;

namespace {

// How many are at work, and how many were at most.
class Gauge {
public:
    void enter() {
        int now = running_.fetch_add(1, std::memory_order_relaxed) + 1;
        int most = most_.load(std::memory_order_relaxed);
        while (most < now && !most_.compare_exchange_weak(most, now, std::memory_order_relaxed,
                                                          std::memory_order_relaxed)) {}
    }
    void leave() { running_.fetch_sub(1, std::memory_order_relaxed); }
    int most() const { return most_.load(std::memory_order_relaxed); }

private:
    Atomic<int> running_{0};
    Atomic<int> most_{0};
};

Result<bool> demonstrate() {
    Gauge gauge;
    Event begin;
    Pool pool = WEFT_TRY(Pool::create({.workers = 2, .queue_size = 3}));
    auto job = [&]() -> Result<void> {
        gauge.enter();
        Result<void> begun = begin.wait();
        Result<void> worked = begun ? sleep_for(5ms) : begun;
        gauge.leave();
        return worked;
    };

    // try_submit() never waits: the pressure is the caller's to handle.
    int accepted = 0;
    int refused = 0;
    for (int i = 0; i < 8; ++i) {
        Result<void> submitted = pool.try_submit(job);
        ++(submitted ? accepted : refused);
        if (!submitted && refused == 1)
            std::printf("job %d: %s\n", i, submitted.error().message().c_str());
    }

    begin.set();
    // submit() waits for room, submit_for() not for long.
    Result<void> patient = pool.submit(job);
    Result<void> impatient = pool.submit_for(1us, job);
    std::printf("in a microsecond: %s\n",
                impatient ? "accepted" : impatient.error().message().c_str());

    WEFT_TRY(pool.close());  // drains what was accepted
    Result<void> late = pool.try_submit(job);
    std::printf("after close: %s\n", late ? "?" : late.error().message().c_str());
    std::printf("%d accepted, %d refused, at most %d at once\n", accepted, refused, gauge.most());
    return accepted == 5 && refused == 3 && gauge.most() <= 2 && patient && !late;
}

}  // namespace

int main() { return weft::run(demonstrate) == true ? 0 : 1; }
