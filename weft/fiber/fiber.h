// Fibers: functions that run concurrently and may wait anywhere.
//
//     Future<int> sum = spawn([] { return 1 + 2; });
//     Result<int> three = sum.join();
//
// A fiber has its own stack, so any function in it may wait; nothing is coloured. A wait parks the
// fiber, never the thread. spawn() may be called in fibers only; plain threads use Runtime::spawn.
// What the body throws becomes the Error of join(), with the exception in it.
//
// All functions here: any fiber, and where it says so any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/body_with_fallback.h"
#include "weft/fiber/switch/fiber_block.h"

namespace weft {

class FiberLabel;

enum class FloatState : bool { Default, Keep };

// When a new fiber runs. Soon: before those that were spawned earlier, so that a tree of fibers
// unfolds depth first and needs few stacks. InTurn: after those that are ready, as if it had been
// woken; for what answers events from outside, where the earliest must not wait for the latest.
enum class Start : bool { Soon, InTurn };

// Lent: the spawner keeps the token alive until the fiber has ended or begun its first wait, which
// takes a reference. For detached fibers of which many never wait.
enum class TokenUse : bool { Counted, Lent };

struct SpawnOptions {
    std::string_view name = {};   // shown by the dump and by the overflow message
    std::size_t stack_bytes = 0;  // 0: the runtime's default
    // Keep: the rounding mode and traps that the body sets are restored after each wait.
    FloatState float_state = FloatState::Default;
    Start start = Start::Soon;
    Worker* pinned = nullptr;  // set by Runtime::spawn_pinned
    // The fiber's ambient token; null: that of the spawning fiber. On a plain thread it also
    // selects the runtime: the one whose root is above the token.
    CancelState* token = nullptr;
    TokenUse token_use = TokenUse::Counted;
    // What the fiber is called if it has no name; a constant. See naming.h.
    const FiberLabel* label = nullptr;

    bool is_default() const {
        return name.empty() && stack_bytes == 0 && !pinned && float_state == FloatState::Default;
    }
};

// Names a fiber, also after its end: a small value. Any thread.
class FiberId {
public:
    FiberId() = default;
    explicit FiberId(Fiber& fiber) : fiber_(&fiber), generation_(fiber.generation) {
        // Relaxed: made by the fiber itself or by the owner of its handle, both of which come
        // before the block is given back.
        fiber.exposed.store(true, std::memory_order_relaxed);
    }
    friend bool operator==(const FiberId&, const FiberId&) = default;
    explicit operator bool() const { return fiber_ != nullptr; }

private:
    friend void unpark(FiberId id);
    Fiber* fiber_ = nullptr;
    std::uint32_t generation_ = 0;
};

// The running fiber; null on a plain thread.
Fiber* current();
FiberId current_id();
// What dumps call the running fiber: its name, or else its label; empty on a plain thread. Valid
// until the name changes, which each job of a pool and each request of a server does.
std::string_view current_name();

// Lets others run. It does not look at cancellation: see checkpoint(). A no-op off a fiber.
void yield();
// yield(), then the error if the ambient token is cancelled: for loops that compute.
Result<void> checkpoint();
// Never early. Any thread.
Result<void> sleep_until(Deadline deadline);
template <class Rep, class Period>
Result<void> sleep_for(std::chrono::duration<Rep, Period> duration) {
    return sleep_until(Deadline::after(duration));
}

// Waits for an unpark() of this fiber; an earlier one counts, once. Only fibers can park.
Result<void> park(Deadline deadline = Deadline::never());
// Any thread, at any time: before the park, twice (which counts once), or after the fiber's end.
void unpark(FiberId id);

namespace fiber_internal {

template <class T>
struct Unwrap {
    using Type = T;
};
template <class T>
struct Unwrap<Result<T>> {
    using Type = T;
};

// Creating and ending a fiber, independent of the type of its body.
enum class Counted : bool { No, Yes };
enum class Joinable : bool { No, Yes };
// Null, with the reason in `error`, when there can be no fiber. A null scheduler means that of the
// running fiber. A joinable fiber belongs to the scope around it.
Fiber* prepare(Scheduler* scheduler, const SpawnOptions& options, Joinable joinable, Error& error);
// False, with the reason in `error`, when the runtime has begun to shut down meanwhile.
bool launch(Fiber& fiber, Counted counted, Joinable joinable, Error& error);
void give_up(Fiber& fiber);  // a prepared fiber without a body
// False, with the reason in `error`, when the wait ended before the fiber did.
bool join(Fiber& fiber, Deadline deadline, Error& error);
bool is_done(Fiber& fiber);
// The SpawnState of a fiber that belongs to a scope, with a reference; before it is launched.
CancelState* spawn_state_of(Fiber& fiber);
void release_spawn_state(CancelState& spawn_state);
// Takes the fiber out of its scope.
void detach_spawn_state(CancelState& spawn_state, const Fiber& fiber);
// True if the caller has to discard the outcome and give back the block.
bool detach(Fiber& fiber);
// Logs and counts an error that nobody takes.
void dropped(const Fiber& fiber, const Error& error);
// The same for another job; `token` selects the runtime where no fiber runs.
void dropped(std::string_view what, const Error& error, const CancelState* token);
// Logs and counts the outcome of a job whose caller has stopped waiting for it.
void late(std::string_view what, const Result<void>& outcome);
// The same of an operation, completed by any thread; `token` as above.
void late(std::string_view what, const CancelState* token);
// The root token of the runtime whose fiber runs; null on a plain thread.
CancelState* root_token();
// The error of join() without a fiber: why it did not start, or that it was joined before.
Error not_joinable(const Error& start_error);

// Stores the closure until it has run, and its outcome after that.
template <class Closure, class T>
struct Body {
    union Place {
        Place() {}
        ~Place() {}
        Closure closure;
        Result<T> outcome;
    };
    static constexpr bool kInline =
        sizeof(Place) <= Fiber::kStorageBytes && alignof(Place) <= alignof(void*);

    static Place& place(Fiber& fiber) {
        if constexpr (kInline) return *std::launder(reinterpret_cast<Place*>(fiber.storage));
        return **reinterpret_cast<Place**>(fiber.storage);
    }

    template <class Function>
    static bool store(Fiber& fiber, Function&& function) {
        Place* place = nullptr;
        if constexpr (kInline) {
            place = new (fiber.storage) Place;
        } else {
            place = new (std::nothrow) Place;  // tidy: allow new: owned by the fiber's storage
            if (!place) return false;
            *reinterpret_cast<Place**>(fiber.storage) = place;
        }
        new (&place->closure) Closure(std::forward<Function>(function));
        return true;
    }

    static Result<T> call(Closure& closure) {
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Closure&>>) {
                closure();
                return Result<T>();
            } else {
                return closure();
            }
        } catch (...) {
            return Error::from_current_exception();
        }
    }

    static void handle(Fiber& fiber, Fiber::Operation operation, const Error* error) {
        Place& here = place(fiber);
        if (operation == Fiber::Operation::Run) {
            Result<T> outcome = call(here.closure);
            here.closure.~Closure();
            new (&here.outcome) Result<T>(std::move(outcome));
        } else if (operation == Fiber::Operation::Fail) {
            fail(here, *error);
        } else {
            if (!here.outcome) dropped(fiber, here.outcome.error());
            static_cast<void>(take(fiber));
        }
    }

    // A BodyWithFallback handles the error itself, so its outcome is a success.
    static void fail(Place& here, const Error& error) {
        if constexpr (requires { here.closure.unstarted(error); }) {
            here.closure.unstarted(error);
            here.closure.~Closure();
            new (&here.outcome) Result<T>();
        } else {
            here.closure.~Closure();
            new (&here.outcome) Result<T>(error);
        }
    }

    // Destroys the closure of a fiber that was not launched.
    static void take_back(Fiber& fiber) {
        Place& here = place(fiber);
        here.closure.~Closure();
        if constexpr (!kInline) delete &here;  // tidy: allow delete: see store()
    }

    static Result<T> take(Fiber& fiber) {
        Place& here = place(fiber);
        Result<T> outcome = std::move(here.outcome);
        here.outcome.~Result<T>();
        if constexpr (!kInline) delete &here;  // tidy: allow delete: see store()
        return outcome;
    }
};

// Takes the outcome, for a Future, which does not know the closure's type.
template <class T>
using Take = Result<T> (*)(Fiber& fiber);

}  // namespace fiber_internal

void release_block(Fiber& fiber);

// The handle of a spawned fiber; it may outlive the fiber. One owner. After its destruction the
// fiber goes on, in its scope; an error with which it ends is then logged and counted.
template <class T>
class Future {
public:
    Future() = default;
    Future(Fiber& fiber, fiber_internal::Take<T> take, CancelState* spawn_state)
        : fiber_(&fiber), take_(take), spawn_state_(spawn_state) {}
    explicit Future(Error start_error) : error_(std::move(start_error)) {}
    Future(Future&& other) noexcept
        : fiber_(std::exchange(other.fiber_, nullptr)),
          take_(other.take_),
          spawn_state_(std::exchange(other.spawn_state_, nullptr)),
          error_(std::move(other.error_)) {}
    Future& operator=(Future&& other) noexcept {
        if (this == &other) return *this;
        drop();
        fiber_ = std::exchange(other.fiber_, nullptr);
        take_ = other.take_;
        spawn_state_ = std::exchange(other.spawn_state_, nullptr);
        error_ = std::move(other.error_);
        return *this;
    }
    ~Future() { drop(); }

    // False if the fiber could not be started: join() then gives the reason.
    explicit operator bool() const { return fiber_ != nullptr; }
    FiberId id() const { return fiber_ ? FiberId(*fiber_) : FiberId(); }
    bool is_done() const { return fiber_ && fiber_internal::is_done(*fiber_); }

    // Waits for the end and takes the outcome: once. Parks a fiber, blocks a plain thread. When the
    // wait itself is cancelled or times out, the fiber is still joinable.
    Result<T> join(Deadline deadline = Deadline::never()) {
        if (!fiber_) return fiber_internal::not_joinable(error_);
        Error interrupted = ErrorKind::Other;
        if (!fiber_internal::join(*fiber_, deadline, interrupted)) return interrupted;
        Fiber& fiber = *std::exchange(fiber_, nullptr);
        Result<T> outcome = take_(fiber);
        release_block(fiber);
        release_spawn_state();
        return outcome;
    }

    // Drops the handle and takes the fiber out of its scope, with everything that was started in
    // it: from now on only the end of the runtime cancels it, and only the runtime waits for it.
    void detach() {
        if (fiber_ && spawn_state_) fiber_internal::detach_spawn_state(*spawn_state_, *fiber_);
        drop();
    }

private:
    void drop() {
        release_spawn_state();
        Fiber* fiber = std::exchange(fiber_, nullptr);
        if (!fiber || !fiber_internal::detach(*fiber)) return;
        Result<T> outcome = take_(*fiber);
        if (!outcome) fiber_internal::dropped(*fiber, outcome.error());
        release_block(*fiber);
    }
    void release_spawn_state() {
        if (spawn_state_) [[unlikely]]
            fiber_internal::release_spawn_state(*std::exchange(spawn_state_, nullptr));
    }

    Fiber* fiber_ = nullptr;
    fiber_internal::Take<T> take_ = nullptr;
    CancelState* spawn_state_ = nullptr;  // counted; null if only the runtime waits for the fiber
    Error error_ = ErrorKind::Misuse;     // why the start failed, else that of a second join()
};

namespace fiber_internal {

template <class Function>
using Outcome = typename Unwrap<std::invoke_result_t<std::decay_t<Function>&>>::Type;
template <class Function>
using BodyOf = Body<std::decay_t<Function>, Outcome<Function>>;

template <class Function>
Fiber* start(Scheduler* scheduler, const SpawnOptions& options, Counted counted, Joinable joinable,
             Function&& function, CancelState*& spawn_state, Error& error) {
    Fiber* fiber = prepare(scheduler, options, joinable, error);
    if (!fiber) return nullptr;
    if (!BodyOf<Function>::store(*fiber, std::forward<Function>(function))) {
        give_up(*fiber);
        error = ErrorKind::OutOfMemory;
        return nullptr;
    }
    fiber->body = BodyOf<Function>::handle;
    if (fiber->flags & Fiber::kInScope) [[unlikely]]
        spawn_state = spawn_state_of(*fiber);
    if (launch(*fiber, counted, joinable, error)) [[likely]]
        return fiber;
    if (spawn_state) release_spawn_state(*std::exchange(spawn_state, nullptr));
    BodyOf<Function>::take_back(*fiber);
    give_up(*fiber);
    return nullptr;
}

// The same for a fiber that nobody joins.
template <class Function>
Fiber* start(Scheduler* scheduler, const SpawnOptions& options, Counted counted, Joinable joinable,
             Function&& function, Error& error) {
    CancelState* spawn_state = nullptr;
    Fiber* fiber = start(scheduler, options, counted, joinable, std::forward<Function>(function),
                         spawn_state, error);
    if (spawn_state) release_spawn_state(*spawn_state);
    return fiber;
}

template <class Function>
auto start_joinable(Scheduler* scheduler, const SpawnOptions& options, Function&& function) {
    using T = Outcome<Function>;
    Error error = ErrorKind::Other;
    CancelState* spawn_state = nullptr;
    Fiber* fiber = start(scheduler, options, Counted::Yes, Joinable::Yes,
                         std::forward<Function>(function), spawn_state, error);
    if (!fiber) [[unlikely]]
        return Future<T>(std::move(error));
    return Future<T>(*fiber, BodyOf<Function>::take, spawn_state);
}

template <class Function>
Result<void> start_detached(Scheduler* scheduler, const SpawnOptions& options,
                            Function&& function) {
    Error error = ErrorKind::Other;
    Fiber* fiber = start(scheduler, options, Counted::No, Joinable::No,
                         std::forward<Function>(function), error);
    if (!fiber) return error;
    return {};
}

}  // namespace fiber_internal

// Starts `function` on a new fiber of this runtime. Its result, or the content of its Result, is
// the outcome. The fiber belongs to the scope around the caller (async/scope.h), whose end cancels
// it and waits for it, joined or not; without a scope Runtime::run() waits for it. Future::detach()
// takes it out of the scope.
template <class Function>
auto spawn(Function&& function, const SpawnOptions& options = {}) {
    return fiber_internal::start_joinable(nullptr, options, std::forward<Function>(function));
}

// As spawn, but nobody waits for the fiber, not even a scope: the end of the runtime cancels it.
// The error is that of the start. A fiber gets its stack when it first runs: if there is no memory
// for it then, the function is destroyed without having run, which is logged and counted. If
// something must happen in that case, use the form below.
template <class Function>
Result<void> spawn_detached(Function&& function, const SpawnOptions& options = {}) {
    return fiber_internal::start_detached(nullptr, options, std::forward<Function>(function));
}

// The same with a fallback: exactly one of `function` and `unstarted` is called, or none if the
// start gives an error. `unstarted(error)` is called where there was no memory for the stack, by
// the worker in the middle of a switch: it must neither wait nor throw.
template <class Function, class Unstarted>
Result<void> spawn_detached(Function&& function, Unstarted&& unstarted,
                            const SpawnOptions& options) {
    return fiber_internal::start_detached(
        nullptr, options,
        fiber_internal::BodyWithFallback{std::forward<Function>(function),
                                         std::forward<Unstarted>(unstarted)});
}

}  // namespace weft
