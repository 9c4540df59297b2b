// Cancellation: tokens that form a tree, and the token that a fiber carries.
//
// A CancelSource owns a node of the tree; cancelling it cancels everything below it, once, with the
// first reason kept. A CancelToken is a cheap reference to look at. A fiber carries one token (its
// ambient one, inherited at spawn), and every wait in it honours that token unasked: it ends as
// Cancelled, or as TimedOut when the token's deadline was the reason. Nothing is ever torn down
// from outside: a cancelled fiber returns from its wait and unwinds normally.
//
//     CancelSource source = CancelSource::with_deadline(Deadline::after(2s));
//     CancelScope scope(source.token());        // the ambient token until the scope ends
//     Result<int> item = channel.receive();     // TimedOut after two seconds
//
// Not cancellable: Mutex::lock, the re-lock of Condition, and whatever runs in shield().
// Tokens and sources: any thread. CancelScope and shield: the fiber or thread that runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/schedule/timer.h"
#include "weft/fiber/wait/reason_word.h"
#include "weft/fiber/wait/token_refs.h"
#include "weft/fiber/waiter.h"

namespace weft {

class CancelToken;
class Scheduler;
class Worker;

// What a context says about it: "context canceled", "context deadline exceeded".
std::string_view to_string(CancelReason reason);

// Calls a function when a token is cancelled, in the canceller's thread; it must not wait. The
// destructor removes the listener, and waits for a call that is under way in another thread.
// listen() and stop(): one thread at a time.
class CancelListener {
public:
    using Callback = void (*)(CancelListener& listener, CancelReason reason);

    explicit CancelListener(Callback callback) : callback_(callback) {}
    ~CancelListener() { stop(); }
    CancelListener(const CancelListener&) = delete;
    CancelListener& operator=(const CancelListener&) = delete;

    // Calls back at once if the token is cancelled already.
    void listen(CancelState* token);
    void stop();

private:
    friend class CancelState;

    Callback callback_;
    CancelState* token_ = nullptr;
    ListLink link_;
    Atomic<bool> calling_{false};
};

// The reference-counted node behind tokens. Any thread. Used by Weft's own layers; programs use the
// classes below. A layer that needs data for the life of a node derives from it, so that both are
// one allocation.
class CancelState {
public:
    // What a derived type adds to a node.
    struct NodeType {
        void (*destroy)(CancelState& state);
        // The value that the node itself has for this key, or null. No function: it has none.
        const void* (*find)(const CancelState& state, const void* key) = nullptr;
        // For a node that waits for what is started below it (a scope): enter() counts one job
        // more, and fails if the scope has ended; leave() counts one less.
        bool (*enter)(CancelState& state) = nullptr;
        void (*leave)(CancelState& state) = nullptr;
        // Called when the reason is asked for the first time: see expect_asking().
        void (*asked)(CancelState& state) = nullptr;
    };

    // Takes a reference to the parent. Starts with one reference, the caller's.
    static CancelState* create(CancelState* parent, Deadline deadline);
    CancelState(const CancelState&) = delete;
    CancelState& operator=(const CancelState&) = delete;

    void add_ref();
    void release();
    // Whether there are references besides the `own` ones of the caller. A momentary value; but
    // once it is false, only the caller can make it true again.
    bool is_held_besides(std::uint32_t own) const { return references_.is_held_besides(own); }

    bool cancel(CancelReason reason);  // false if it was cancelled before
    // Cancels everything below, but not the node itself.
    void cancel_children(CancelReason reason);
    CancelReason reason() const {
        return reason_.get([this] { return ask(); });
    }
    // The same, but it does not count as asking.
    CancelReason peek() const { return reason_.get(); }
    // For an owner that watches for a cause of cancellation only once somebody could notice it.
    // From here on `asked` of its type is called once, before the reason is returned to the first
    // that asks: a wait or a spawn with this token, a child, a listener, a copy of the token, or a
    // plain test. Called by the only holder of the node; does nothing if it is cancelled already.
    void expect_asking();
    bool is_unasked() const { return reason_.is_unasked(); }
    // The reason may be asked for from now on, by any thread.
    void will_be_asked() {
        if (is_unasked()) [[unlikely]]
            static_cast<void>(ask());
    }
    bool is_cancelled() const { return reason() != CancelReason::None; }
    // The earlier of its own deadline and the parent's.
    Deadline deadline() const { return is_cut() ? Deadline::never() : deadline_; }
    Error error() const;
    CancelState* parent() const { return parent_; }
    bool is_below(const CancelState* other) const;  // true also for the node itself
    // Cancellation and the deadline of its parent do not reach it any more; find() still goes up.
    bool is_cut() const {
        // Relaxed: a concurrent reader sees the node either before or after the move; both are
        // right.
        return cut_.load(std::memory_order_relaxed);
    }
    // Enters the nearest node from here upwards that waits for what is below it (a scope), and
    // returns it: call leave_keeper() on it when the job has ended. Null if there is none; then
    // only the runtime waits.
    CancelState* enter_keeper();
    void leave_keeper() { node_type_->leave(*this); }
    // The value of the nearest node from here upwards that has one for this key; null if none has.
    const void* find(const void* key) const;

    // The living nodes from here downwards that have a value for this key.
    std::vector<CancelToken> nodes_with(const void* key);
    // The value of this very node; null if it has none.
    const void* find_here(const void* key) const {
        return node_type_ && node_type_->find ? node_type_->find(*this, key) : nullptr;
    }

    // Sets a timer in the calling worker's wheel, if it has a deadline and that runtime has no
    // timer for it yet. Off a worker it does nothing: there expire_if_due() notices the deadline.
    void arm_deadline();
    // Whether it is cancelled; cancels it if its deadline has passed.
    bool expire_if_due();

    // The list of cells that carry the token and are woken by cancel().
    void add_cell(WaitCell& cell);
    void remove_cell(WaitCell& cell);
    // At the first wait of a fiber whose token was lent: takes a reference and lists the cell.
    [[gnu::noinline, gnu::cold]] static void list_late(WaitCell& cell);

protected:
    CancelState(CancelState* parent, Deadline deadline, const NodeType* node_type);
    ~CancelState();

    // A new node of a derived type; create() makes a plain one.
    template <class Derived, class... Arguments>
    static Derived* make(Arguments&&... arguments) {
        // tidy: allow new: counted by itself
        auto* state = new Derived(std::forward<Arguments>(arguments)...);
        state->enter_tree();
        return state;
    }
    template <class Derived>
    static void destroy_as(CancelState& state) {
        delete static_cast<Derived*>(&state);  // tidy: allow delete: counted by itself
    }
    // A reference for a caller that holds none; false when the last one is gone.
    bool try_add_ref();
    void enter_tree();
    // Cuts the node off from its parent: from now on it is cancelled with `other` instead. Once.
    // The destructor of the derived type must call leave_tree(other).
    void move_below(CancelState& other);
    void leave_tree(CancelState& above);

private:
    friend class CancelListener;

    [[gnu::noinline, gnu::cold]] CancelReason ask() const;
    void join_children_of(CancelState& above);
    void leave_children_of(CancelState& above);
    void disarm_deadline();
    bool claim_cells(WaitCell*& claimed);
    void tell(CancelReason reason, WaitCell*& claimed);
    void call_listeners(CancelReason reason);
    void mark_children(CancelReason reason, CancelState*& marked);
    static CancelState* first_living(CancelState* child);
    CancelState* next_living(const CancelState* child);

    // A token may be used in several runtimes, each of which may end before the others. So each has
    // a timer of its own, which holds a reference to the token while it is set.
    struct DeadlineTimer : Timer {
        explicit DeadlineTimer(CancelState& token) : Timer(on_end), state(token) {}
        void set(Worker& its_worker);
        static void on_end(Timer& timer, TimerEnd end);

        CancelState& state;
        Worker* worker = nullptr;  // in whose wheel it is set, if it is
        std::unique_ptr<DeadlineTimer> next;
    };
    DeadlineTimer* unset_timer(const Scheduler& scheduler, bool& armed);

    TokenRefs references_;
    mutable ReasonWord reason_;
    SpinLock lock_;  // guards the children, cells_, listeners_ and timers_
    const bool own_deadline_;
    Atomic<bool> cut_{false};  // written under the parent's lock
    CancelState* const parent_;
    const NodeType* const node_type_;  // null for a plain node
    const Deadline deadline_;
    IntrusiveList<WaitCell, &WaitCell::token_link> cells_;
    IntrusiveList<CancelListener, &CancelListener::link_> listeners_;
    DeadlineTimer timers_{*this};
    CancelState* next_marked_ = nullptr;  // in the list of its canceller; see tell()
    CancelState* first_child_ = nullptr;
    CancelState* next_sibling_ = nullptr;  // under the parent's lock, as is the next
    CancelState* previous_sibling_ = nullptr;
};

class CancelToken {
public:
    CancelToken() = default;  // never cancelled
    explicit CancelToken(CancelState* state) : state_(state) {
        if (!state_) return;
        state_->will_be_asked();
        state_->add_ref();
    }
    // Takes over the reference that a new state starts with.
    static CancelToken adopt(CancelState* state) {
        CancelToken token;
        token.state_ = state;
        return token;
    }
    CancelToken(const CancelToken& other) : CancelToken(other.state_) {}
    CancelToken(CancelToken&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    CancelToken& operator=(CancelToken other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~CancelToken() {
        if (state_) state_->release();
    }

    // The token of the fiber or thread that runs.
    static CancelToken current();

    bool is_cancelled() const;
    CancelReason reason() const;
    Deadline deadline() const { return state_ ? state_->deadline() : Deadline::never(); }
    // Nothing while live; then Cancelled, or TimedOut when the deadline was the reason.
    Result<void> check() const;
    CancelState* state() const { return state_; }

private:
    CancelState* state_ = nullptr;
};

class CancelSource {
public:
    // A child of the ambient token, or of `parent`.
    CancelSource() : CancelSource(CancelToken::current()) {}
    explicit CancelSource(const CancelToken& parent, Deadline deadline = Deadline::never());
    static CancelSource with_deadline(Deadline deadline) {
        return CancelSource(CancelToken::current(), deadline);
    }
    // The root of a tree of its own: nothing above can cancel it.
    static CancelSource detached(Deadline deadline = Deadline::never()) {
        return CancelSource(CancelToken(), deadline);
    }
    // A child of the ambient token that a std::stop_source can also cancel.
    template <class StopToken>  // std::stop_token: a template, so that others need not include it
        requires requires(const StopToken& stop) { stop.stop_possible(); }
    static CancelSource from(StopToken stop);
    // A child of the token of another object, such as a Context.
    template <class Cancelled>
        requires requires(const Cancelled& cancelled) { CancelToken(cancelled.token()); }
    static CancelSource from(const Cancelled& cancelled) {
        return CancelSource(cancelled.token());
    }

    CancelToken token() const { return token_; }
    // Idempotent; the first reason is kept.
    void cancel(CancelReason reason = CancelReason::Cancelled) { token_.state()->cancel(reason); }

private:
    explicit CancelSource(CancelState* owned) : token_(CancelToken::adopt(owned)) {}

    CancelToken token_;
};

// Makes a token the ambient one of the running fiber or thread until the scope ends.
class CancelScope {
public:
    explicit CancelScope(CancelToken token);
    ~CancelScope();
    CancelScope(const CancelScope&) = delete;
    CancelScope& operator=(const CancelScope&) = delete;

private:
    CancelToken token_;
    CancelState* previous_;
    bool previous_listed_;
};

// Runs `fn` where no cancellation from outside reaches it, until the deadline: for rollback,
// cancel-and-drain, and the like.
template <class Function>
auto shield(Deadline deadline, Function&& fn) {
    CancelScope scope(CancelSource::detached(deadline).token());
    return std::forward<Function>(fn)();
}

}  // namespace weft
