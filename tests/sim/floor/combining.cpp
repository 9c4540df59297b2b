#include "tests/sim/floor/combining.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <tuple>
#include <vector>

#include "tests/sim/floor/jobs.h"
#include "weft/async/combine.h"
#include "weft/async/retry.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using async::OwnedContext;
using async::Task;
using Manner = Jobs::Manner;

int dropped_errors(const Runtime& runtime) {
    return static_cast<int>(runtime.counters().dropped_errors.value());
}

// A job whose value is its place, from 1.
auto placed(Jobs& jobs, Manner manner, int place) {
    jobs.count({});
    return [job = jobs.job(manner), place](Context& context) mutable -> Result<int> {
        WEFT_TRY(job(context));
        return place;
    };
}

// Runs three functions, or as many tasks, and gives the result of `combine`.
template <class Combine>
Result<int> of_three(Jobs& jobs, const std::vector<Manner>& manners, Combine combine) {
    auto one = placed(jobs, manners[0], 1);
    auto two = placed(jobs, manners[1], 2);
    auto three = placed(jobs, manners[2], 3);
    if (coin()) return combine(std::move(one), std::move(two), std::move(three));
    std::vector<Task<int>> tasks;
    tasks.push_back(std::move(*async::run_task(std::move(one))));
    tasks.push_back(std::move(*async::run_task(std::move(two))));
    tasks.push_back(std::move(*async::run_task(std::move(three))));
    return combine(std::move(tasks));
}

constexpr auto kAny = [](auto&&... jobs) { return async::any(std::move(jobs)...); };
constexpr auto kRace = [](auto&&... jobs) { return async::race(std::move(jobs)...); };

int count(const std::vector<Manner>& manners, Manner manner) {
    return static_cast<int>(std::ranges::count(manners, manner));
}

// The value is the place of a job that can have succeeded.
void require_winner(const std::vector<Manner>& manners, int place) {
    require(place >= 1 && place <= 3, "a value that no job gave");
    Manner manner = manners[static_cast<std::size_t>(place - 1)];
    require(manner == Manner::Succeed || manner == Manner::Ignore, "who failed has won");
}

}  // namespace

// The first success wins; without one the first error is given; the other errors are counted.
void any_of_some() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    bool won = false;
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        std::vector<Manner> manners = {Manner::Fail, Manner::Fail, Manner::Fail};
        for (Manner& manner : manners) {
            if (coin()) manner = Jobs::some_manner(false);
        }
        bool succeeds = count(manners, Manner::Fail) < 3;
        if (succeeds && manners.front() == Manner::Fail) manners.front() = Manner::Heed;
        Result<int> outcome = of_three(jobs, manners, kAny);
        won = outcome.has_value();
        jobs.require_ended();
        require(won == succeeds, "a success was lost, or made up");
        if (won) return require_winner(manners, *outcome);
        jobs.require_own(outcome.error());
    });
    crew.join();
    runtime.run();
    require(dropped_errors(runtime) == jobs.failed() - (won ? 0 : 1), "an error was not counted");
}

// The first that ends wins, with whatever it ends.
void race_of_some() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    int given = 0;
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        std::vector<Manner> manners = {Jobs::some_manner(false), Jobs::some_manner(true),
                                       Jobs::some_manner(true)};
        if (coin()) manners = {Manner::Fail, Manner::Fail, Manner::Fail};
        Result<int> outcome = of_three(jobs, manners, kRace);
        jobs.require_ended();
        if (outcome) return require_winner(manners, *outcome);
        require(outcome.error().kind() == ErrorKind::Other, "who was ended has won");
        jobs.require_own(outcome.error());
        given = 1;
    });
    crew.join();
    runtime.run();
    require(dropped_errors(runtime) == jobs.failed() - given, "an error was not counted");
}

// Everybody's outcome, and nobody ends anybody.
void settled_all() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        Jobs jobs;
        std::vector<Manner> manners = {Jobs::some_manner(false), Jobs::some_manner(false)};
        auto one = placed(jobs, manners[0], 1);
        auto two = placed(jobs, manners[1], 2);
        std::vector<Result<int>> outcomes;
        if (coin()) {
            auto [first, second] = async::all_settled(std::move(one), std::move(two));
            outcomes = {first, second};
        } else {
            std::vector<Task<int>> tasks;
            tasks.push_back(std::move(*async::run_task(std::move(one))));
            tasks.push_back(std::move(*async::run_task(std::move(two))));
            outcomes = async::all_settled(std::move(tasks));
        }
        jobs.require_ended();
        for (int place = 1; place <= 2; ++place) {
            auto at = static_cast<std::size_t>(place - 1);
            bool fails = manners[at] == Manner::Fail;
            require(outcomes[at].has_value() == !fails, "not the outcome of this job");
            require(fails ? outcomes[at].error().native_code() == place : *outcomes[at] == place,
                    "the outcome of another job");
        }
    });
    crew.join();
    runtime.run();
    require(dropped_errors(runtime) == 0, "an outcome was dropped");
}

// So many attempts, with pauses between them, until one succeeds or the context ends.
void retry_attempts() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            OwnedContext owned = Context::background(runtime).with_timeout(1us + up_to_us(100));
            CancelScope scope(owned.context.token());
            int attempts_max = between(1, 4);
            int succeeds_at = between(1, 5);
            int attempts = 0;
            Instant last = Clock::now();
            async::RetryOptions options{
                .attempts_max = attempts_max, .delay_first = 10us, .delay_max = 20us};
            Result<int> outcome = async::retry(options, [&]() -> Result<int> {
                Instant now = Clock::now();
                require(attempts == 0 || now - last >= 5us, "an attempt came early");
                last = now;
                if (++attempts == succeeds_at) return attempts;
                return Error(ErrorKind::Other, attempts);
            });
            require(attempts <= attempts_max, "an attempt too many");
            if (outcome) return require(*outcome == succeeds_at, "another value");
            require(attempts < succeeds_at, "a success was lost");
            if (is_end_of_context(outcome.error()))
                return require(owned.context.is_done(), "it gave up early");
            require(attempts == attempts_max && outcome.error().native_code() == attempts,
                    "not the last error");
        });
    }
}

// A slow or failed attempt gets a rival; one wins, and all have ended when the call returns.
void hedge_attempts() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            InRuntime here(runtime);
            Jobs jobs;
            int attempts_max = between(1, 3);
            bool succeeds = coin();
            // One function for all attempts: each takes the next job of the book.
            auto attempt = [&](Context& context) -> Result<int> {
                jobs.count({});
                Manner manner =
                    succeeds && jobs.begun() + 1 >= attempts_max ? Manner::Succeed : Manner::Fail;
                auto job = jobs.job(coin() && manner == Manner::Succeed ? Manner::Ignore : manner);
                if (coin()) static_cast<void>(sleep_for(up_to_us(20)));
                WEFT_TRY(job(context));
                return 1;
            };
            Result<int> outcome =
                async::hedge({.delay = 1us + up_to_us(20), .attempts_max = attempts_max}, attempt);
            jobs.require_ended();
            require(jobs.begun() >= 1 && jobs.begun() <= attempts_max, "so many attempts");
            require(outcome.has_value() == (jobs.failed() < jobs.ended()), "not an outcome of it");
            if (!outcome) jobs.require_own(outcome.error());
        });
    }
}

namespace {

// Each attempt is a job of the book.
Result<int> repeated(Jobs& jobs) {
    auto attempt = [&](Context& context) {
        return placed(jobs, Jobs::some_manner(true), 1)(context);
    };
    if (coin()) return async::hedge({.delay = 10us, .attempts_max = 3}, attempt);
    return async::retry({.attempts_max = 3, .delay_first = 10us, .delay_max = 20us}, attempt);
}

}  // namespace

// The ambient context is cancelled at one exact step.
void combine_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext owned = Context::background(runtime).with_cancel();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        owned.source.cancel();
    });
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(owned.context.token());
            Jobs jobs;
            std::vector<Manner> manners = {Jobs::some_manner(true), Jobs::some_manner(true),
                                           Jobs::some_manner(true)};
            bool repeats = coin();
            Result<int> outcome = repeats  ? repeated(jobs)
                                  : coin() ? of_three(jobs, manners, kAny)
                                           : of_three(jobs, manners, kRace);
            jobs.require_ended();
            if (!outcome) return jobs.require_own(outcome.error());
            if (!repeats) require_winner(manners, *outcome);
        });
    }
}

}  // namespace weft::sim::scenarios
