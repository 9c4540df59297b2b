// Task<T>: one job with a value, which is waited for once.
//
//     auto config = WEFT_TRY(run_task([](Context& context) -> Result<Config> { ... }));
//     ...
//     Config loaded = WEFT_TRY(config.wait());
//
// The job runs on a fiber of its own, in a context of its own that ends when the job has ended. Its
// result may be there before wait() asks for it. wait() is a join: it cannot be cancelled, but the
// end of the caller's context ends the job's. A task that is replaced or destroyed without a wait()
// cancels its job and waits for it; the error of that job is logged and counted. So the job may
// refer to what is declared before the task in the same frame.
//
// Any fiber, any thread. Of several concurrent wait() calls one gets the result, the others Misuse.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/job_count.h"
#include "weft/base/assert.h"
#include "weft/base/result.h"

namespace weft::async_internal {

template <class T>
class TaskCore final : public CancelState {
public:
    static TaskCore* create(const Context& parent) {
        return make<TaskCore>(parent_of_core(parent));
    }

    static constexpr FiberLabel kLabel{"task"};

    Result<T> wait() {
        if (!jobs_.close_and_wait(*this)) return async::kTaskWaited();
        WEFT_ASSERT(outcome_.has_value(), "a job stores its outcome before its end is counted");
        return std::move(*outcome_);
    }
    void end() {
        if (jobs_.end(*this) == JobCount::End::Joined) report();
    }

    // For JobBody.
    template <class Function>
    Result<T> call(Function& function) {
        Context context{CancelToken(this)};
        return call_job(function, context);
    }
    void finish(Result<T> outcome) {
        WEFT_DASSERT(!outcome_, "a job ends once");
        outcome_.emplace(std::move(outcome));
        cancel(CancelReason::Cancelled);
        if (jobs_.done()) report();
    }

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<TaskCore>};

    explicit TaskCore(CancelState* parent) : CancelState(parent, Deadline::never(), &kNodeType) {}
    ~TaskCore() = default;

    // The outcome is destroyed here, where a wait is possible: it may own jobs itself.
    void report() {
        if (!outcome_) return;
        if (!*outcome_) fiber_internal::dropped("a task", outcome_->error(), this);
        outcome_.reset();
    }

    JobCount jobs_{1};
    std::optional<Result<T>> outcome_;
};

}  // namespace weft::async_internal

namespace weft::async {

template <class T>
class Task;

template <async_internal::JobFunction Function>
auto run_with_context(std::string_view name, const Context& parent, Function&& function)
    -> Result<Task<async_internal::JobValue<Function>>>;

template <class T>
class Task {
public:
    // run_task() and run_with_context() with the type of the value written out.
    template <async_internal::JobFunction Function>
    static Result<Task> run(Function&& function);
    template <async_internal::JobFunction Function>
    static Result<Task> run(std::string_view name, Function&& function);
    template <async_internal::JobFunction Function>
    static Result<Task> run_with_context(const Context& parent, Function&& function);
    template <async_internal::JobFunction Function>
    static Result<Task> run_with_context(std::string_view name, const Context& parent,
                                         Function&& function);

    // The job's result, when it has ended. Once.
    Result<T> wait() { return core_->wait(); }

private:
    template <async_internal::JobFunction Function>
    friend auto async::run_with_context(std::string_view name, const Context& parent,
                                        Function&& function)
        -> Result<Task<async_internal::JobValue<Function>>>;
    explicit Task(async_internal::CoreRef<async_internal::TaskCore<T>> core)
        : core_(std::move(core)) {}

    async_internal::OwnerRef<async_internal::TaskCore<T>> core_;
};

// Starts a job below a context. Dumps show its fiber under the name.
template <async_internal::JobFunction Function>
auto run_with_context(std::string_view name, const Context& parent, Function&& function)
    -> Result<Task<async_internal::JobValue<Function>>> {
    using T = async_internal::JobValue<Function>;
    if (async_internal::is_nil(function)) return kNilJob();
    async_internal::CoreRef core(async_internal::TaskCore<T>::create(parent));
    WEFT_TRY(async_internal::start_job(*core, std::forward<Function>(function), name));
    return Task<T>(std::move(core));
}
template <async_internal::JobFunction Function>
auto run_with_context(const Context& parent, Function&& function) {
    return run_with_context({}, parent, std::forward<Function>(function));
}
template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<Task<void>> run_with_context(std::string_view, const Context&, Function&&) {
    std::unreachable();
}
template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<Task<void>> run_with_context(const Context&, Function&&) {
    std::unreachable();
}

// Starts a job below the ambient context.
template <async_internal::JobFunction Function>
auto run_task(std::string_view name, Function&& function) {
    return run_with_context(name, Context::current(), std::forward<Function>(function));
}
template <async_internal::JobFunction Function>
auto run_task(Function&& function) {
    return run_task({}, std::forward<Function>(function));
}
template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<Task<void>> run_task(std::string_view, Function&&) {
    std::unreachable();
}
template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<Task<void>> run_task(Function&&) {
    std::unreachable();
}

template <class T>
template <async_internal::JobFunction Function>
Result<Task<T>> Task<T>::run_with_context(std::string_view name, const Context& parent,
                                          Function&& function) {
    static_assert(std::is_same_v<async_internal::JobValue<Function>, T>,
                  "the job of a Task<T> gives a T or a Result<T>");
    return async::run_with_context(name, parent, std::forward<Function>(function));
}
template <class T>
template <async_internal::JobFunction Function>
Result<Task<T>> Task<T>::run_with_context(const Context& parent, Function&& function) {
    return run_with_context({}, parent, std::forward<Function>(function));
}
template <class T>
template <async_internal::JobFunction Function>
Result<Task<T>> Task<T>::run(std::string_view name, Function&& function) {
    return run_with_context(name, Context::current(), std::forward<Function>(function));
}
template <class T>
template <async_internal::JobFunction Function>
Result<Task<T>> Task<T>::run(Function&& function) {
    return run_with_context(Context::current(), std::forward<Function>(function));
}

}  // namespace weft::async
