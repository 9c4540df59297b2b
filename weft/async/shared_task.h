// SharedTask<T>: one job whose value many may wait for. And then(): a continuation of a task.
//
//     SharedTask<Config> config = WEFT_TRY(run_shared(load_config));
//     Config loaded = WEFT_TRY(config.wait());        // every waiter gets a copy
//     auto name = WEFT_TRY(config.then([](const Config& config) { return config.name; }));
//
// Unlike that of a Task, the wait can be cancelled: that ends only this wait, because others may
// want the value. The job runs below the ambient context of the caller that started it. All copies
// of the handle own it together: when the last one is destroyed, the job is cancelled and waited
// for; an error that no wait() has returned is logged and counted.
//
// A value: copies refer to the same job. Any fiber, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/job_count.h"
#include "weft/async/task.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/sync/event.h"

namespace weft::async_internal {

template <class T>
class SharedCore final : public CancelState {
public:
    static constexpr FiberLabel kLabel{"shared task"};
    static SharedCore* create(const Context& parent) {
        return make<SharedCore>(parent_of_core(parent));
    }

    Result<T> wait() {
        Result<void> done = done_.wait();
        if (!done) {
            if (WEFT_PLANTED("shared_task.gives_up_for_all")) cancel(CancelReason::Cancelled);
            WEFT_TRY(Context::current().check());
            return done.error();
        }
        // Relaxed: read by the last handle, after all others were dropped.
        seen_.store(true, std::memory_order_relaxed);
        WEFT_ASSERT(outcome_.has_value(), "the outcome is stored before done_ is set");
        return *outcome_;
    }
    bool is_done() const { return done_.is_set(); }

    void add_handle() {
        // Relaxed: the caller copies a handle, or has just created the core.
        handles_.fetch_add(1, std::memory_order_relaxed);
    }
    void drop_handle() {
        // Acquire-release: the last handle sees what all others did.
        std::uint32_t before = handles_.fetch_sub(1, std::memory_order_acq_rel);
        WEFT_ASSERT(before != 0, "more handles were dropped than made");
        if (before == 1) end();
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
        done_.set();
        static_cast<void>(jobs_.done());
    }

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<SharedCore>};

    explicit SharedCore(CancelState* parent) : CancelState(parent, Deadline::never(), &kNodeType) {}
    ~SharedCore() { report(); }

    void end() {
        // If the job, or a job that it has started, drops the last handle, it cannot wait for
        // itself.
        CancelState* ambient = can_wait_here() ? current_cell().token : nullptr;
        bool inside = ambient && ambient->is_below(this);
        if (inside) {
            cancel(CancelReason::Cancelled);
        } else if (jobs_.end(*this) == JobCount::End::Joined) {
            report();
        }
    }
    // The outcome is destroyed here, where a wait is possible, and not in the scheduler: it may own
    // jobs itself.
    void report() {
        // Relaxed: see wait(). There is no outcome if the job was never started.
        if (outcome_ && !*outcome_ && !seen_.load(std::memory_order_relaxed))
            fiber_internal::dropped("a shared task", outcome_->error(), parent());
        outcome_.reset();
    }

    Atomic<std::uint32_t> handles_{0};
    JobCount jobs_{1};
    Event done_;
    Atomic<bool> seen_{false};
    std::optional<Result<T>> outcome_;  // published by done_
};

// Calls a function with the value of a result, or without one for Result<void>; an error is
// returned unchanged.
template <class Function, class T>
auto call_with(Function& function, Result<T> result) {
    constexpr bool kVoid = std::is_void_v<T>;
    auto call = [&] {
        if constexpr (kVoid) {
            return function();
        } else {
            return function(*std::move(result));
        }
    };
    using U = typename fiber_internal::Unwrap<decltype(call())>::Type;
    if (!result) return Result<U>(result.error());
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        return Result<U>();
    } else {
        return Result<U>(call());
    }
}

}  // namespace weft::async_internal

namespace weft::async {

template <class T>
class SharedTask {
    using Core = async_internal::SharedCore<T>;

public:
    SharedTask(const SharedTask& other) : SharedTask(other.core()) {}
    SharedTask(SharedTask&& other) noexcept = default;
    SharedTask& operator=(SharedTask other) noexcept {
        std::swap(token_, other.token_);
        return *this;
    }
    ~SharedTask() {
        if (token_.state()) core().drop_handle();
    }

    // The job's result, when it has ended.
    Result<T> wait() const { return core().wait(); }
    bool is_done() const { return core().is_done(); }
    // Ends the job's context, for all handles.
    void cancel() { core().cancel(CancelReason::Cancelled); }

    // Starts another shared task: it calls `function` with the value of this one, on a fiber of its
    // own. If this one fails, the other fails with the same error.
    template <class Function>
    auto then(Function&& function) const;

private:
    template <async_internal::JobFunction Function>
    friend auto run_shared(std::string_view name, Function&& function)
        -> Result<SharedTask<async_internal::JobValue<Function>>>;
    explicit SharedTask(Core& core) : token_(&core) { core.add_handle(); }

    Core& core() const {
        WEFT_ASSERT(token_.state(), "this shared task has been moved from");
        return static_cast<Core&>(*token_.state());
    }

    CancelToken token_;
};

// Starts a job below the ambient context. Dumps show its fiber under the name.
template <async_internal::JobFunction Function>
auto run_shared(std::string_view name, Function&& function)
    -> Result<SharedTask<async_internal::JobValue<Function>>> {
    using T = async_internal::JobValue<Function>;
    if (async_internal::is_nil(function)) return kNilJob();
    async_internal::CoreRef core(async_internal::SharedCore<T>::create(Context::current()));
    WEFT_TRY(async_internal::start_job(*core, std::forward<Function>(function), name));
    return SharedTask<T>(*core);
}
template <async_internal::JobFunction Function>
auto run_shared(Function&& function) {
    return run_shared({}, std::forward<Function>(function));
}
template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<SharedTask<void>> run_shared(std::string_view, Function&&) {
    std::unreachable();
}
template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<SharedTask<void>> run_shared(Function&&) {
    std::unreachable();
}

// Makes a shared task of a task that runs already.
template <class T>
Result<SharedTask<T>> share(Task<T> task) {
    return run_shared([task = std::move(task)]() mutable { return task.wait(); });
}

// Starts another task: it calls `function` with the value of this one; an error is passed on
// unchanged.
template <class T, class Function>
auto then(Task<T> task, Function&& function) {
    return run_task([task = std::move(task), next = std::forward<Function>(function)]() mutable {
        return async_internal::call_with(next, task.wait());
    });
}

template <class T>
template <class Function>
auto SharedTask<T>::then(Function&& function) const {
    return run_shared([task = *this, next = std::forward<Function>(function)]() mutable {
        return async_internal::call_with(next, task.wait());
    });
}

}  // namespace weft::async
