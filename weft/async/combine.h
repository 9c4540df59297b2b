// any, race, all_settled: several jobs, one result.
//
//     Result<Page> page = any(from_cache, from_mirror, from_origin);  // the first that succeeds
//     Result<Page> page = race(fetch, give_up_after(1s));             // the first that ends
//     auto [user, cart] = all_settled(load_user, load_cart);          // a Result each
//
// The jobs run on fibers of their own, below the ambient context. The winner cancels the others,
// and all are waited for before the call returns. So jobs may refer to the caller's frame, and a
// job that ignores the end of its context delays the call. When none succeeds, any() returns the
// error that came first. Errors that are not returned are logged and counted.
//
// The same functions take tasks that run already, and wait for them and cancel them in the same
// way.
//
// Any fiber; a plain thread whose ambient context is one of a runtime.
#pragma once

#include <concepts>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/race.h"
#include "weft/async/task.h"
#include "weft/base/result.h"

namespace weft::async_internal {

template <class First, class... Rest>
concept SameValue = (std::same_as<JobValue<First>, JobValue<Rest>> && ...);
template <class... Functions>
concept AllJobs = (JobFunction<Functions> && ...);
#define WEFT_REFUSE_VALUES \
    __attribute__((unavailable("the jobs of any() and race() give values of the same type")))

template <class... Functions>
auto run_race(WonBy won_by, Functions&&... functions) {
    using T = JobValue<std::tuple_element_t<0, std::tuple<Functions...>>>;
    Race<T> race(won_by);
    (race.start(std::forward<Functions>(functions)), ...);
    return race.finish();
}

template <class T>
Result<T> run_race(WonBy won_by, std::vector<async::Task<T>> tasks) {
    if (tasks.empty()) return async::kNoJobs();
    Race<T> race(won_by);
    for (async::Task<T>& task : tasks)
        race.start([task = std::move(task)]() mutable { return task.wait(); });
    return race.finish();
}

template <class T>
Result<T> outcome_of(Result<async::Task<T>>& task) {
    if (!task) return task.error();
    return task->wait();
}

}  // namespace weft::async_internal

namespace weft::async {

template <async_internal::JobFunction First, async_internal::JobFunction... Rest>
    requires async_internal::SameValue<First, Rest...>
Result<async_internal::JobValue<First>> any(First&& first, Rest&&... rest) {
    return async_internal::run_race(async_internal::WonBy::Success, std::forward<First>(first),
                                    std::forward<Rest>(rest)...);
}
template <async_internal::JobFunction First, async_internal::JobFunction... Rest>
    requires(!async_internal::SameValue<First, Rest...>)
WEFT_REFUSE_VALUES Result<async_internal::JobValue<First>> any(First&&, Rest&&...) {
    std::unreachable();
}
template <class... Functions>
    requires(sizeof...(Functions) > 0 && !async_internal::AllJobs<Functions...>)
WEFT_REFUSE_JOB Result<void> any(Functions&&...) {
    std::unreachable();
}
template <class T>
Result<T> any(std::vector<Task<T>> tasks) {
    return async_internal::run_race(async_internal::WonBy::Success, std::move(tasks));
}

template <async_internal::JobFunction First, async_internal::JobFunction... Rest>
    requires async_internal::SameValue<First, Rest...>
Result<async_internal::JobValue<First>> race(First&& first, Rest&&... rest) {
    return async_internal::run_race(async_internal::WonBy::AnyOutcome, std::forward<First>(first),
                                    std::forward<Rest>(rest)...);
}
template <async_internal::JobFunction First, async_internal::JobFunction... Rest>
    requires(!async_internal::SameValue<First, Rest...>)
WEFT_REFUSE_VALUES Result<async_internal::JobValue<First>> race(First&&, Rest&&...) {
    std::unreachable();
}
template <class... Functions>
    requires(sizeof...(Functions) > 0 && !async_internal::AllJobs<Functions...>)
WEFT_REFUSE_JOB Result<void> race(Functions&&...) {
    std::unreachable();
}
template <class T>
Result<T> race(std::vector<Task<T>> tasks) {
    return async_internal::run_race(async_internal::WonBy::AnyOutcome, std::move(tasks));
}

// No job cancels another one.
template <async_internal::JobFunction... Functions>
auto all_settled(Functions&&... functions)
    -> std::tuple<Result<async_internal::JobValue<Functions>>...> {
    // In braces, so that the jobs are started in this order.
    std::tuple<Result<Task<async_internal::JobValue<Functions>>>...> tasks{
        run_task(std::forward<Functions>(functions))...};
    return std::apply(
        [](auto&... task) {
            return std::tuple<Result<async_internal::JobValue<Functions>>...>{
                async_internal::outcome_of(task)...};
        },
        tasks);
}
template <class T>
std::vector<Result<T>> all_settled(std::vector<Task<T>> tasks) {
    std::vector<Result<T>> outcomes;
    outcomes.reserve(tasks.size());
    for (Task<T>& task : tasks) outcomes.push_back(task.wait());
    return outcomes;
}

}  // namespace weft::async
