// Jobs: the functions that groups, tasks, pools and the like run, and how a job gets its fiber.
//
// A core is the node of the cancel tree that a group, task, pool or the like owns. It is the
// ambient token of its jobs, and a fiber holds a reference to its token until it has ended; so a
// core outlives its jobs, even if its handle is destroyed first. Any fiber or thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/naming.h"

namespace weft::async_internal {

using async::Context;

template <class Function>
decltype(auto) invoke_job(Function& function, Context& context) {
    if constexpr (std::invocable<Function&, Context&>) {
        return function(context);
    } else {
        return function();
    }
}

// Without a Type if there is no such call, so that templates which need it are not viable.
template <class Function>
struct JobResultOf {};
template <std::invocable<Context&> Function>
struct JobResultOf<Function> {
    using Type = std::invoke_result_t<Function, Context&>;
};
template <std::invocable Function>
    requires(!std::invocable<Function, Context&>)
struct JobResultOf<Function> {
    using Type = std::invoke_result_t<Function>;
};
template <class Function>
using JobResult = typename JobResultOf<std::decay_t<Function>&>::Type;
// What a job may return: nothing, a Result<T> or a plain value. A bare Error is none of them: it
// does not say what the job gives when it succeeds.
template <class T>
concept JobOutcome = std::is_void_v<T> || (std::is_object_v<T> && std::move_constructible<T> &&
                                           !std::same_as<std::remove_cv_t<T>, Error> &&
                                           !std::same_as<std::remove_cv_t<T>, ErrorKind>);
// A function that takes its context, or none; with a Result<T>, a T or nothing as its result.
template <class Function>
concept JobFunction = requires { typename JobResultOf<std::decay_t<Function>&>::Type; } &&
                      JobOutcome<JobResult<Function>>;
// Each function that takes a job has a second overload for everything else. It is never called: it
// makes the compiler report the sentence below, on the line of the caller, instead of template
// errors.
template <class Function>
concept NotAJob = !JobFunction<Function>;
#define WEFT_REFUSE_JOB                                                                    \
    __attribute__((                                                                        \
        unavailable("a job takes a Context& or nothing, and returns a Result<T>, a plain " \
                    "value or nothing")))

// The value type of the job's Result, or the type that the job returns.
template <class Function>
using JobValue = typename fiber_internal::Unwrap<JobResult<Function>>::Type;

// True for a null pointer, and for a wrapper such as std::function without a function; never for a
// lambda.
template <class Function>
bool is_nil(const Function& function) {
    if constexpr (std::is_pointer_v<Function>) {
        return function == nullptr;
    } else if constexpr (requires { function.operator bool(); }) {
        return !function;
    } else {
        return false;
    }
}

// Calls the job. An exception becomes its error.
template <class Function>
Result<JobValue<Function>> call_job(Function& function, Context& context) {
    try {
        if constexpr (std::is_void_v<JobResult<Function>>) {
            invoke_job(function, context);
            return {};
        } else {
            return invoke_job(function, context);
        }
    } catch (...) {
        return Error::from_current_exception();
    }
}

// The same outcome without the value.
template <class T>
Result<void> without_value(const Result<T>& outcome) {
    if (!outcome) return outcome.error();
    return {};
}
template <class Function>
Result<void> call_without_value(Function& function, Context& context) {
    return without_value(call_job(function, context));
}

// Whether this is the error of a job that ended because its context did.
inline bool is_end_of_context(const Error& error) {
    return error.kind() == ErrorKind::Cancelled || error.kind() == ErrorKind::TimedOut;
}

// A function in a heap allocation of its own.
template <class Function>
struct BoxedFunction {
    std::unique_ptr<Function> function;
    decltype(auto) operator()(Context& context) { return invoke_job(*function, context); }
};

// The type in which a function is stored in kBytes of storage: its own if it fits, else boxed.
template <class Function, std::size_t kBytes>
using StoredFunction =
    std::conditional_t<sizeof(std::decay_t<Function>) <= kBytes &&
                           alignof(std::decay_t<Function>) <= alignof(void*),
                       std::decay_t<Function>, BoxedFunction<std::decay_t<Function>>>;

template <std::size_t kBytes, class Function>
auto store_function(Function&& function) -> StoredFunction<Function, kBytes> {
    using Plain = std::decay_t<Function>;
    if constexpr (std::is_same_v<StoredFunction<Function, kBytes>, Plain>) {
        return std::forward<Function>(function);
    } else {
        return {std::make_unique<Plain>(std::forward<Function>(function))};
    }
}

// The reference that a handle holds to its core. It has one owner.
template <class Core>
class CoreRef {
public:
    CoreRef() = default;
    explicit CoreRef(Core* owned) : core_(owned) {}
    CoreRef(CoreRef&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
    CoreRef& operator=(CoreRef&& other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~CoreRef() {
        if (core_) core_->release();
    }

    Core* operator->() const { return &**this; }
    Core& operator*() const {
        WEFT_DASSERT(core_, "this reference to a core has been moved from");
        return *core_;
    }
    explicit operator bool() const { return core_ != nullptr; }

private:
    Core* core_ = nullptr;
};

// The same for a core that has jobs: releasing it calls end(), which cancels the jobs and waits for
// them, unless they were waited for before.
template <class Core>
class OwnerRef {
public:
    explicit OwnerRef(CoreRef<Core> core) : core_(std::move(core)) {}
    OwnerRef(OwnerRef&&) noexcept = default;
    OwnerRef& operator=(OwnerRef&& other) noexcept {
        if (this == &other) return *this;
        CoreRef<Core> old = std::move(core_);
        core_ = std::move(other.core_);
        if (old) old->end();
        return *this;
    }
    ~OwnerRef() {
        if (core_) core_->end();
    }

    Core* operator->() const { return &**this; }
    Core& operator*() const {
        WEFT_ASSERT(core_, "this owner of jobs has been moved from");
        return *core_;
    }

private:
    CoreRef<Core> core_;
};

// The parent of a new core. For a context without a runtime it is the root of the runtime whose
// fiber calls, because the runtime's shutdown must reach every job.
inline CancelState* parent_of_core(const Context& parent) {
    CancelState* state = parent.token().state();
    return state ? state : fiber_internal::root_token();
}

// A job on its fiber. It calls core.call(function), which returns the outcome, and last
// core.finish(outcome). The function is destroyed between the two, so that a waiter which finish()
// wakes may destroy what the function refers to.
template <class Core, class Function>
struct JobBody {
    Core& core;
    Function function;

    static JobBody& of(Fiber& fiber) {
        return *std::launder(reinterpret_cast<JobBody*>(fiber.storage));
    }

    static void handle(Fiber& fiber, Fiber::Operation operation, const Error* error) {
        if (operation == Fiber::Operation::Discard) return;  // the core has the outcome
        JobBody& body = of(fiber);
        Core& core = body.core;
        if (operation == Fiber::Operation::Fail) {
            body.~JobBody();
            return core.finish(*error);
        }
        auto outcome = core.call(body.function);
        body.~JobBody();
        core.finish(std::move(outcome));
    }
};

// Calls a function on leaving, unless the job was started by then: also where storing the job's
// function throws.
template <class Undo>
class UnlessStarted {
public:
    explicit UnlessStarted(Undo undo) : undo_(undo) {}
    ~UnlessStarted() {
        if (!started_) [[unlikely]]
            undo_();
    }
    UnlessStarted(const UnlessStarted&) = delete;
    UnlessStarted& operator=(const UnlessStarted&) = delete;
    void started() { started_ = true; }

private:
    Undo undo_;
    bool started_ = false;
};

// Starts a fiber for a job of the core. Dumps show it under the name, or without one under
// Core::kLabel. On failure no function of the core is called. Throws what moving or copying the
// function throws, and bad_alloc where there is no memory for a large one.
template <class Core, class Function>
Result<void> start_job(Core& core, Function&& function, std::string_view name = {}) {
    constexpr std::size_t room = Fiber::kStorageBytes - sizeof(Core*);
    using Body = JobBody<Core, StoredFunction<Function, room>>;
    static_assert(sizeof(Body) <= Fiber::kStorageBytes);
    SpawnOptions options;
    options.token = &core;
    options.name = name;
    options.label = &Core::kLabel;
    Error error = ErrorKind::OutOfMemory;
    Fiber* fiber = fiber_internal::prepare(nullptr, options, fiber_internal::Joinable::No, error);
    if (!fiber) return error;
    UnlessStarted unless_started([fiber] { fiber_internal::give_up(*fiber); });
    new (fiber->storage) Body{core, store_function<room>(std::forward<Function>(function))};
    fiber->body = Body::handle;
    if (fiber_internal::launch(*fiber, fiber_internal::Counted::Yes, fiber_internal::Joinable::No,
                               error)) [[likely]] {
        unless_started.started();
        return {};
    }
    Body::of(*fiber).~Body();
    return error;
}

}  // namespace weft::async_internal
