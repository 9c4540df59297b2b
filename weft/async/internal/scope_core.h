// ScopeCore: the state of a scope, and the steps of its end.
//
// It is a node of the cancel tree and the ambient token of what runs in the scope. alive_ counts
// the jobs, the child scopes, the fibers that were spawned in it, and the jobs whose own owner has
// left them running (see CancelState::enter_keeper). The scope ends in four steps: it takes no more
// jobs and is cancelled; it waits until nothing is alive; its cleanups run, newest first; the
// operation table is closed and the arena freed.
//
// Any fiber or thread; the functions that end it: its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "weft/async/arena.h"
#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/first_error.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/operation_table.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/stop_step.h"
#include "weft/sync/internal/wait_queue.h"  // tidy: allow layers: it waits as sync/ does

namespace weft::async_internal {

// An action at the end of a scope. It is allocated in the scope's arena.
struct Cleanup {
    Cleanup* next = nullptr;
    Result<void> (*run)(Cleanup& cleanup) = nullptr;  // does not throw
};

class ScopeCore final : public CancelState {
public:
    // `rank` is the lowest rank of the scope's kind; a scope always ranks above its parent.
    static ScopeCore* create(CancelState* parent, std::uint64_t rank);
    // A scope that ends in rounds (see RecurringScope). No scope above waits for it.
    static ScopeCore* create_recurring(CancelState* parent);
    // The innermost scope at or above this node; null if there is none.
    static ScopeCore* around(const CancelState* state);

    static constexpr FiberLabel kLabel{"scope job"};
    template <class Function>
    Result<void> spawn(std::string_view name, Function&& function) {
        if (!begin_job()) return async::kScopeEnded();
        UnlessStarted unless_started([this] { leave(); });
        WEFT_TRY(start_job(*this, std::forward<Function>(function), name));
        unless_started.started();
        return {};
    }
    // Adds one to what the scope's end waits for. False when the scope no longer waits for it.
    bool enter();
    void leave();
    // Waits until nothing is alive. The wait cannot be cancelled; the jobs can, as they are below.
    void wait_idle();

    void push(Cleanup& cleanup);
    // Ends the scope and returns the first error of a job. Once, by the owner.
    Result<void> end();
    // For a recurring scope, by the owner: end_round() any number of times, then retire().
    void end_round();
    void retire();
    bool has_ended();
    // The callback of a recurring scope, before its context is first observed; may be null.
    struct OnObserved {
        void (*notify)(void* argument) = nullptr;
        void* argument = nullptr;
    };
    void set_on_observed(const OnObserved& callback) { on_observed_ = callback; }
    bool is_touched() const {
        // Relaxed: set by the owner's fiber, or by a fiber that it has spawned after setting it.
        return touched_.load(std::memory_order_relaxed);
    }

    async::Arena& arena() { return arena_; }
    OperationTable& operations() { return operations_; }

    // For JobBody.
    template <class Function>
    Result<void> call(Function& function) {
        Context context{CancelToken(this)};
        return call_without_value(function, context);
    }
    void finish(Result<void> outcome);

private:
    friend class CancelState;
    enum class State : std::uint8_t { Open, Ending, Ended };
    static constexpr char kKey = 0;
    static const void* find_own(const CancelState& state, const void* key);
    static bool enter_below(CancelState& state) { return static_cast<ScopeCore&>(state).enter(); }
    static void leave_below(CancelState& state) { static_cast<ScopeCore&>(state).leave(); }
    static void notify_observed(CancelState& state);
    static constexpr NodeType kNodeType{destroy_as<ScopeCore>, find_own, enter_below, leave_below,
                                        notify_observed};

    enum class Use : bool { Once, Recurring };
    ScopeCore(CancelState* parent, CancelState* outer, std::uint64_t rank, Use use);
    ~ScopeCore();
    bool begin_job();
    void touch();
    Cleanup* pop();
    void run_cleanups();

    CancelState* const outer_;  // entered at creation; an ancestor, so it outlives this node
    StopStep step_;
    const Use use_;
    Atomic<bool> touched_{false};  // there is something to end; written under the lock
    OnObserved on_observed_;  // set before the context is passed to any code that could observe it
    async::Arena arena_;
    OperationTable operations_;
    FirstError errors_;

    SpinLock lock_;  // guards all members below
    State state_ = State::Open;
    std::size_t alive_ = 0;
    Cleanup* cleanups_ = nullptr;  // newest first
    sync_internal::WaitQueue idle_waiters_;
};

// An object in the arena together with its cleanup.
template <class T>
struct WithCleanup : Cleanup {
    union {
        T object;
    };
    WithCleanup() {}
    ~WithCleanup() {}
};

template <class T, class... Arguments>
WithCleanup<T>& make_with_cleanup(ScopeCore& core, Result<void> (*at_end)(Cleanup&),
                                  Arguments&&... arguments) {
    void* place = core.arena().allocate(sizeof(WithCleanup<T>), alignof(WithCleanup<T>));
    auto* made = new (place) WithCleanup<T>;
    new (&made->object) T(std::forward<Arguments>(arguments)...);
    made->run = at_end;
    core.push(*made);
    return *made;
}

template <class T>
Result<void> destroy_object(Cleanup& cleanup) {
    static_cast<WithCleanup<T>&>(cleanup).object.~T();
    return {};
}

template <class Function>
Result<void> call_deferred(Cleanup& cleanup) {
    Function& function = static_cast<WithCleanup<Function>&>(cleanup).object;
    Context context = Context::current();
    Result<void> outcome = call_without_value(function, context);
    function.~Function();
    return outcome;
}

}  // namespace weft::async_internal
