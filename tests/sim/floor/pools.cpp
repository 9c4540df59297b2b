#include "tests/sim/floor/pools.h"

#include <chrono>

#include "tests/sim/floor/jobs.h"
#include "weft/async/pool.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using async::OwnedContext;
using async::Pool;
using Manner = Jobs::Manner;

// A pool, its limits, and the jobs that it was given.
struct Works {
    explicit Works(const Context& parent)
        : workers(between(1, 2)),
          queue_size(between(1, 2)),
          pool(*Pool::create(parent, {.workers = workers, .queue_size = queue_size})) {}

    // One way or another.
    Result<void> submit(Manner manner) {
        Result<void> submitted;
        auto job = jobs.job(manner);
        switch (between(0, 2)) {
        case 0: submitted = pool.try_submit(std::move(job)); break;
        case 1: submitted = pool.submit(std::move(job)); break;
        default: submitted = pool.submit_for(up_to_us(30), std::move(job)); break;
        }
        count(submitted);
        return submitted;
    }
    void count(const Result<void>& submitted) {
        jobs.count(submitted);
        require(jobs.accepted() - jobs.ended() <= workers + queue_size,
                "more jobs were accepted than the pool has places");
        require(jobs.running_most() <= workers, "more jobs run at once than there are workers");
        bool refused = is_fault(submitted, async::kPoolFull) ||
                       is_fault(submitted, async::kPoolClosed) ||
                       is_fault(submitted, async::kTimeout);
        require(submitted || refused || is_end_of_context(submitted.error()), "an odd refusal");
    }
    void require_drained(const Result<void>& closed) const {
        jobs.require_ended();
        require(jobs.running_most() <= workers, "more jobs run at once than there are workers");
        require(closed.has_value() == (jobs.failed() + jobs.heeded() == 0), "an error was lost");
        if (!closed) jobs.require_own(closed.error());
    }

    int workers;
    int queue_size;
    Jobs jobs;
    Pool pool;
};

}  // namespace

// Never more at once than allowed, and every accepted job is done when close() returns.
void pool_traffic() {
    Runtime runtime({.workers = some_workers()});
    Works works(Context::background(runtime));
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            for (int left = between(1, 4); left > 0; --left) {
                Result<void> submitted = works.submit(works.jobs.some_manner(false));
                require(!is_fault(submitted, async::kPoolClosed), "the pool was closed by nobody");
            }
        });
    }
    crew.join();
    works.require_drained(works.pool.close());
    runtime.run();
    int lost = std::max(works.jobs.failed() - 1, 0);
    require(static_cast<int>(runtime.counters().dropped_errors.value()) == lost,
            "an error that is not the first was not counted");
}

// Jobs come one by one to a pool whose fiber has just ended, or is about to.
void pool_idles() {
    Runtime runtime({.workers = some_workers()});
    Works works(Context::background(runtime));
    Crew crew(runtime);
    crew.add([&] {
        for (int left = between(2, 6); left > 0; --left) {
            Event done;
            auto job = [&done, job = works.jobs.job(Manner::Succeed)](Context& context) {
                Result<void> outcome = job(context);
                done.set();
                return outcome;
            };
            works.count(works.pool.submit(std::move(job)));
            require(done.wait().has_value(), "a wait was cancelled by nobody");
            some_yields();
        }
    });
    crew.join();
    works.require_drained(works.pool.close());
}

// Submitters give up when places become free: every place comes back.
void pool_places() {
    Runtime runtime({.workers = some_workers()});
    Works works(Context::background(runtime));
    Event release;
    // Few moments, so that many things come at the same one.
    auto a_while = [] { return between(1, 3) * 10us; };
    Crew crew(runtime);
    for (int i = between(3, 5); i > 0; --i) {
        crew.add([&] {
            for (int left = between(1, 3); left > 0; --left) {
                auto job = [job = works.jobs.job(Manner::Fail),
                            work = a_while()](Context& context) {
                    static_cast<void>(sleep_for(work));
                    return job(context);
                };
                works.count(works.pool.submit_for(a_while(), std::move(job)));
            }
        });
    }
    crew.join();
    auto blocks = [&release] { static_cast<void>(release.wait()); };
    for (int place = works.workers + works.queue_size; place > 0; --place)
        require(works.pool.submit_for(1h, blocks).has_value(), "a place was lost");
    require(is_fault(works.pool.try_submit(blocks), async::kPoolFull), "a place too many");
    release.set();
    works.require_drained(works.pool.close());
}

namespace {

// Who waits for room is woken by the close, and who is in is waited for.
class Closing {
public:
    explicit Closing(Runtime& runtime) : works_(Context::background(runtime)) {}

    void close() {
        Result<void> outcome = works_.pool.close();
        require(works_.jobs.running() == 0, "a job runs in a closed pool");
        require(outcome || outcome.error().kind() == ErrorKind::Other, "an odd error");
        ended_at_close_ = works_.jobs.ended();
        closed_ = true;
        require(is_fault(works_.pool.wait(), async::kPoolWaited), "a second wait succeeded");
    }
    // A submitter, until it is refused because of the close.
    void submit() {
        for (int left = 12; left > 0; --left) {
            bool before = closed_;
            Result<void> submitted = works_.submit(works_.jobs.some_manner(false));
            require(!before || !submitted, "a closed pool has accepted a job");
            if (is_fault(submitted, async::kPoolClosed)) return;
        }
    }
    void check() const {
        works_.jobs.require_ended();
        require(works_.jobs.ended() == ended_at_close_, "a job began after the close");
    }

private:
    Works works_;
    bool closed_ = false;
    int ended_at_close_ = 0;
};

}  // namespace

// Closed in the middle of the traffic.
void pool_close() {
    Runtime runtime({.workers = some_workers()});
    Closing closing(runtime);
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) crew.add([&] { closing.submit(); });
    crew.add([&] {
        some_yields(20);
        closing.close();
    });
    crew.join();
    closing.check();
}

// Closed when it is full: who waits for room is refused at once, not when a job has ended.
void pool_close_full() {
    Runtime runtime({.workers = some_workers()});
    Works works(Context::background(runtime));
    Event all_refused;
    auto blocks = [&all_refused] { static_cast<void>(all_refused.wait()); };
    for (int place = works.workers + works.queue_size; place > 0; --place)
        require(works.pool.try_submit(blocks).has_value(), "a place was lost");
    Crew crew(runtime);
    int waiting = between(1, 3);
    for (int i = waiting; i > 0; --i) {
        crew.add([&] {
            require(is_fault(works.pool.submit([] {}), async::kPoolClosed), "an odd refusal");
            if (--waiting == 0) all_refused.set();
        });
    }
    crew.add([&] {
        some_yields(20);
        require(works.pool.close().has_value(), "an error that no job has given");
    });
    crew.join();
}

// Closed at one exact step.
void pool_close_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Closing closing(runtime);
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        closing.close();
    });
    for (int i = between(1, 3); i > 0; --i) crew.add([&] { closing.submit(); });
    crew.join();
    closing.check();
}

// The context above is cancelled at one exact step: what was accepted still runs.
void pool_cancel_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext owned = Context::background(runtime).with_cancel();
    Works works(owned.context);
    bool cancelled = false;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        cancelled = true;
        owned.source.cancel();
    });
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(coin() ? owned.context.token() : CancelToken());
            for (int left = between(1, 3); left > 0; --left) {
                Result<void> submitted = works.submit(works.jobs.some_manner(true));
                require(submitted || !is_end_of_context(submitted.error()) || cancelled,
                        "a submit was cancelled by nobody");
            }
        });
    }
    crew.join();
    works.require_drained(works.pool.close());
}

}  // namespace weft::sim::scenarios
