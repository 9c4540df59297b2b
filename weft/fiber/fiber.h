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
#include "weft/fiber/duty.h"
#include "weft/fiber/switch/fiber_block.h"

namespace weft {

class FiberLabel;

enum class FloatState : bool { Default, Keep };

// When a new fiber runs. Soon: before those that were spawned earlier, so that a tree of fibers
// unfolds depth first and needs few stacks. InTurn: after those that are ready, as if it had been
// woken; for what answers events from outside, where the earliest must not wait for the latest.
enum class Start : bool { Soon, InTurn };

// Lent: the spawner keeps the token until the fiber has waited or will not wait any more, and the
// token learns of it at its first wait. For detached fibers of which many never wait.
enum class TokenUse : bool { Counted, Lent };

struct SpawnOptions {
    std::string_view name = {};   // shown by the dump and by the overflow message
    std::size_t stack_bytes = 0;  // 0: the runtime's default
    // Keep: the body changes rounding or traps, and wants them back after each wait.
    FloatState float_state = FloatState::Default;
    Start start = Start::Soon;
    Worker* pinned = nullptr;  // set by Runtime::spawn_pinned
    // The fiber's ambient token; null: that of the spawning fiber. On a plain thread it also tells
    // the runtime: that at whose root it hangs.
    CancelState* token = nullptr;
    TokenUse token_use = TokenUse::Counted;
    // What it is called without a name; a constant. See naming.h.
    const FiberLabel* label = nullptr;

    bool is_default() const {
        return name.empty() && stack_bytes == 0 && !pinned && float_state == FloatState::Default;
    }
};

// A fiber, perhaps ended, perhaps gone: a small value. Any thread.
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
// What dumps call it: its name, or else what kind of job it is; empty on a plain thread. Until the
// name changes, which it does with a job of a pool and a request of a server.
std::string_view current_name();

// Lets others run. It does not look at cancellation: see checkpoint(). A no-op off a fiber.
void yield();
// yield(), and the error if the ambient token is cancelled: for loops that compute.
Result<void> checkpoint();
// Never early. Any thread.
Result<void> sleep_until(Deadline deadline);
template <class Rep, class Period>
Result<void> sleep_for(std::chrono::duration<Rep, Period> duration) {
    return sleep_until(Deadline::after(duration));
}

// Waits for an unpark() of this fiber; one that came before counts. Only fibers can park.
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

// Creating and ending, free of the type of the body.
enum class Counted : bool { No, Yes };
enum class Joinable : bool { No, Yes };
// Null, and why, when there can be no fiber. A null scheduler means that of the running fiber. A
// joinable fiber belongs to the scope around it; others are somebody else's.
Fiber* prepare(Scheduler* scheduler, const SpawnOptions& options, Joinable joinable, Error& error);
// False, and why, when the runtime has begun to shut down meanwhile.
bool launch(Fiber& fiber, Counted counted, Joinable joinable, Error& error);
void give_up(Fiber& fiber);  // a prepared fiber without a body
// False, and why, when the wait ended before the fiber did.
bool join(Fiber& fiber, Deadline deadline, Error& error);
bool is_done(Fiber& fiber);
// Of a fiber that belongs to a scope, before it is launched: its node of the cancel tree, counted.
CancelState* kept_of(Fiber& fiber);
void release_kept(CancelState& kept);
// Out of its scope.
void detach_kept(CancelState& kept, const Fiber& fiber);
// True if the caller has to discard the outcome and give back the block.
bool detach(Fiber& fiber);
void dropped(const Fiber& fiber, const Error& error);
// The same for what is not a fiber; `token` tells the runtime where no fiber runs.
void dropped(std::string_view what, const Error& error, const CancelState* token);
// Of a job whose caller has stopped waiting for it.
void late(std::string_view what, const Result<void>& outcome);
// Of an operation, completed by any thread; `token` as above.
void late(std::string_view what, const CancelState* token);
// The root token of the runtime whose fiber runs; null on a plain thread.
CancelState* root_token();
// What join() says without a fiber: why it did not start, or that it was joined before.
Error not_joinable(const Error& start_error);

// Where the closure lies until it has run, and its outcome after that.
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

    // A Duty is told; then nobody else needs to hear of it.
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

    // Of a fiber that was not launched.
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

// How a Future reaches the outcome without knowing the closure's type.
template <class T>
using Take = Result<T> (*)(Fiber& fiber);

}  // namespace fiber_internal

void release_block(Fiber& fiber);

// The handle of a spawned fiber; it outlives the fiber. One owner. Dropping it lets the fiber go on
// by itself, in the scope where it was spawned; an error that it then ends with is logged and
// counted.
template <class T>
class Future {
public:
    Future() = default;
    Future(Fiber& fiber, fiber_internal::Take<T> take, CancelState* kept)
        : fiber_(&fiber), take_(take), kept_(kept) {}
    explicit Future(Error start_error) : error_(std::move(start_error)) {}
    Future(Future&& other) noexcept
        : fiber_(std::exchange(other.fiber_, nullptr)),
          take_(other.take_),
          kept_(std::exchange(other.kept_, nullptr)),
          error_(std::move(other.error_)) {}
    Future& operator=(Future&& other) noexcept {
        if (this == &other) return *this;
        drop();
        fiber_ = std::exchange(other.fiber_, nullptr);
        take_ = other.take_;
        kept_ = std::exchange(other.kept_, nullptr);
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
        release_kept();
        return outcome;
    }

    // Lets the fiber go on by itself, and takes it out of the scope where it was spawned, with all
    // that was started in it: from now on only the end of the runtime cancels it, and only the
    // runtime waits for it.
    void detach() {
        if (fiber_ && kept_) fiber_internal::detach_kept(*kept_, *fiber_);
        drop();
    }

private:
    void drop() {
        release_kept();
        Fiber* fiber = std::exchange(fiber_, nullptr);
        if (!fiber || !fiber_internal::detach(*fiber)) return;
        Result<T> outcome = take_(*fiber);
        if (!outcome) fiber_internal::dropped(*fiber, outcome.error());
        release_block(*fiber);
    }
    void release_kept() {
        if (kept_) [[unlikely]]
            fiber_internal::release_kept(*std::exchange(kept_, nullptr));
    }

    Fiber* fiber_ = nullptr;
    fiber_internal::Take<T> take_ = nullptr;
    CancelState* kept_ = nullptr;      // counted; null if the fiber belongs to the runtime alone
    Error error_ = ErrorKind::Misuse;  // of the start; else that of a second join
};

namespace fiber_internal {

template <class Function>
using Outcome = typename Unwrap<std::invoke_result_t<std::decay_t<Function>&>>::Type;
template <class Function>
using BodyOf = Body<std::decay_t<Function>, Outcome<Function>>;

template <class Function>
Fiber* start(Scheduler* scheduler, const SpawnOptions& options, Counted counted, Joinable joinable,
             Function&& function, CancelState*& kept, Error& error) {
    Fiber* fiber = prepare(scheduler, options, joinable, error);
    if (!fiber) return nullptr;
    if (!BodyOf<Function>::store(*fiber, std::forward<Function>(function))) {
        give_up(*fiber);
        error = ErrorKind::OutOfMemory;
        return nullptr;
    }
    fiber->body = BodyOf<Function>::handle;
    if (fiber->flags & Fiber::kKept) [[unlikely]]
        kept = kept_of(*fiber);
    if (launch(*fiber, counted, joinable, error)) [[likely]]
        return fiber;
    if (kept) release_kept(*std::exchange(kept, nullptr));
    BodyOf<Function>::take_back(*fiber);
    give_up(*fiber);
    return nullptr;
}

// The same for one that nobody joins.
template <class Function>
Fiber* start(Scheduler* scheduler, const SpawnOptions& options, Counted counted, Joinable joinable,
             Function&& function, Error& error) {
    CancelState* kept = nullptr;
    Fiber* fiber =
        start(scheduler, options, counted, joinable, std::forward<Function>(function), kept, error);
    if (kept) release_kept(*kept);
    return fiber;
}

template <class Function>
auto start_joinable(Scheduler* scheduler, const SpawnOptions& options, Function&& function) {
    using T = Outcome<Function>;
    Error error = ErrorKind::Other;
    CancelState* kept = nullptr;
    Fiber* fiber = start(scheduler, options, Counted::Yes, Joinable::Yes,
                         std::forward<Function>(function), kept, error);
    if (!fiber) [[unlikely]]
        return Future<T>(std::move(error));
    return Future<T>(*fiber, BodyOf<Function>::take, kept);
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

// Starts `function` on a new fiber of this runtime. Its result, or what is in its Result, is the
// outcome. It belongs to the scope around the caller (async/scope.h), whose end cancels it and
// waits for it, joined or not; where there is none, Runtime::run() waits for it. Future::detach()
// is the way out.
template <class Function>
auto spawn(Function&& function, const SpawnOptions& options = {}) {
    return fiber_internal::start_joinable(nullptr, options, std::forward<Function>(function));
}

// As spawn, but nobody waits for it, no scope either: at the end of the runtime it may be
// abandoned. The error is that of the start. A fiber gets its stack when it first runs: where there
// is no memory for it then, the function is destroyed without having run, which is logged and
// counted. For one that has something to give back or somebody to tell there is the form below.
template <class Function>
Result<void> spawn_detached(Function&& function, const SpawnOptions& options = {}) {
    return fiber_internal::start_detached(nullptr, options, std::forward<Function>(function));
}

// The same for a duty: of `function` and `unstarted` exactly one is called, unless the start gives
// an error, and then none. `unstarted(error)` is called where there was no memory for the stack, by
// the worker in the midst of a switch: it must neither wait nor throw.
template <class Function, class Unstarted>
Result<void> spawn_detached(Function&& function, Unstarted&& unstarted,
                            const SpawnOptions& options) {
    return fiber_internal::start_detached(
        nullptr, options,
        fiber_internal::Duty{std::forward<Function>(function), std::forward<Unstarted>(unstarted)});
}

}  // namespace weft
