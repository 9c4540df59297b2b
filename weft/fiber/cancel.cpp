#include "weft/fiber/cancel.h"

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {

std::string_view to_string(CancelReason reason) {
    switch (reason) {
    case CancelReason::None: return "context not canceled";
    case CancelReason::DeadlineExceeded: return "context deadline exceeded";
    case CancelReason::Cancelled:
    case CancelReason::Shutdown: break;
    }
    return "context canceled";
}

CancelState* CancelState::create(CancelState* parent, Deadline deadline) {
    return make<CancelState>(parent, deadline, nullptr);
}

void CancelState::enter_tree() {
    if (parent_) join_children_of(*parent_);
}

void CancelState::join_children_of(CancelState& above) {
    {
        SpinGuard guard(above.lock_);
        next_sibling_ = above.first_child_;
        if (next_sibling_) next_sibling_->previous_sibling_ = this;
        above.first_child_ = this;
    }
    if (WEFT_PLANTED("cancel.misses_the_newborn")) return;
    // After the insertion: either this sees the reason, or the canceller above finds the child.
    if (CancelReason reason = above.reason(); reason != CancelReason::None) cancel(reason);
}

void CancelState::leave_tree(CancelState& above) {
    SpinGuard guard(above.lock_);
    leave_children_of(above);
}

// With the lock of `above` held.
void CancelState::leave_children_of(CancelState& above) {
    WEFT_DASSERT(above.lock_.is_locked());
    if (previous_sibling_) {
        previous_sibling_->next_sibling_ = next_sibling_;
    } else if (above.first_child_ == this) {
        above.first_child_ = next_sibling_;
    }
    if (next_sibling_) next_sibling_->previous_sibling_ = previous_sibling_;
    next_sibling_ = previous_sibling_ = nullptr;
}

void CancelState::move_below(CancelState& other) {
    WEFT_ASSERT(parent_ && !is_cut(), "a node is moved once, from below another one");
    {
        SpinGuard guard(parent_->lock_);
        leave_children_of(*parent_);
        // Relaxed: under the lock, for next_living(); elsewhere see is_cut().
        cut_.store(true, std::memory_order_relaxed);
    }
    join_children_of(other);
}

CancelState::CancelState(CancelState* parent, Deadline deadline, const NodeType* node_type)
    : own_deadline_(!deadline.is_never() && (!parent || deadline < parent->deadline())),
      parent_(parent),
      node_type_(node_type),
      deadline_(parent ? earlier(deadline, parent->deadline()) : deadline) {
    if (parent_) parent_->add_ref();
}

// The reference to the parent is released in the loop of release(): here it would be a recursion.
CancelState::~CancelState() {
    WEFT_ASSERT(!first_child_, "a child keeps its parent");
    WEFT_DASSERT(!timers_.worker, "a timer that is set keeps its token");
    if (parent_ && !is_cut()) leave_tree(*parent_);
}

void CancelState::add_ref() { references_.add(); }

bool CancelState::try_add_ref() { return references_.try_add(); }

void CancelState::release() {
    // A loop, because a chain of parents may be longer than a fiber's stack is deep.
    for (CancelState* state = this; state;) {
        if (state->references_.has_timers_alone()) state->disarm_deadline();
        if (!state->references_.release()) return;
        CancelState* parent = state->parent_;
        if (state->node_type_) {
            state->node_type_->destroy(*state);
        } else {
            destroy_as<CancelState>(*state);
        }
        state = parent;
    }
}

// The caller holds a reference. If all others are those of timers, the timers are cancelled.
void CancelState::disarm_deadline() {
    SpinGuard guard(lock_);
    if (!references_.has_timers_alone()) return;
    for (DeadlineTimer* timer = &timers_; timer; timer = timer->next.get()) {
        // Under this lock the wheel cannot end meanwhile: it calls on_end() first.
        if (!timer->worker || !timer->worker->timers().cancel(*timer)) continue;
        timer->worker = nullptr;
        references_.cancel_timer();
    }
}

void CancelState::expect_asking() {
    WEFT_ASSERT(node_type_ && node_type_->asked, "nobody wants to know whether this node is asked");
    reason_.expect_asking();
}

// Called with no lock held: `asked` may cancel the node.
CancelReason CancelState::ask() const {
    if (reason_.ask()) node_type_->asked(const_cast<CancelState&>(*this));
    return reason_.get();
}

bool CancelState::cancel(CancelReason reason) {
    if (!reason_.mark(reason)) return false;
    env::trace("cancel", static_cast<std::uint64_t>(reason));
    WaitCell* claimed = nullptr;
    if (claim_cells(claimed)) tell(reason, claimed);
    while (WaitCell* cell = claimed) {
        claimed = cell->next;
        WaitRef(*cell, 0).resume();
    }
    return true;
}

// Claims the waits of all listed cells. True: there are listeners or children to be told; those
// that come later see the reason themselves.
bool CancelState::claim_cells(WaitCell*& claimed) {
    SpinGuard guard(lock_);
    for (WaitCell& cell : cells_) {
        std::uint64_t wait = cell.word.find(WaitWord::Waiting);  // after ReasonWord::mark()
        if (wait == 0 || !WaitRef(cell, wait).try_claim(Wake::Cancelled)) continue;
        cell.next = claimed;
        claimed = &cell;
        if (WEFT_PLANTED("cancel.wakes_one")) break;
    }
    return first_child_ || !listeners_.empty();
}

// Calls the listeners of this node and cancels everything below it, by a list instead of a
// recursion: the tree may be deeper than a fiber's stack. Every node in the list is marked, and the
// list holds a reference to it. Only one caller can mark a node, so next_marked_ belongs to it.
void CancelState::tell(CancelReason reason, WaitCell*& claimed) {
    add_ref();
    CancelState* marked = nullptr;
    CancelState* state = this;
    for (;;) {
        state->call_listeners(reason);
        state->mark_children(reason, marked);
        state->release();
        if (!marked) return;
        state = std::exchange(marked, marked->next_marked_);
        state->claim_cells(claimed);
    }
}

void CancelState::call_listeners(CancelReason reason) {
    for (;;) {
        CancelListener* listener = nullptr;
        {
            SpinGuard guard(lock_);
            listener = listeners_.pop_front();
            if (!listener) return;
            // Relaxed: set under the lock, under which stop() finds the listener removed.
            listener->calling_.store(true, std::memory_order_relaxed);
        }
        listener->callback_(*listener, reason);
        // Release: the callback is over; pairs with the acquire in stop().
        listener->calling_.store(false, std::memory_order_release);
    }
}

// With the parent's lock held: the first of these siblings that still lives, with a reference.
CancelState* CancelState::first_living(CancelState* child) {
    for (; child; child = child->next_sibling_) {
        // A child whose count has reached zero is being destroyed and waits for the lock.
        if (child->try_add_ref()) return child;
    }
    return nullptr;
}

// Children that are added meanwhile see the reason of this node themselves.
void CancelState::mark_children(CancelReason reason, CancelState*& marked) {
    CancelState* child = next_living(nullptr);
    while (child) {
        if (child->reason_.mark(reason)) {
            WEFT_DASSERT(!child->next_marked_, "a node is marked once");
            child->add_ref();
            child->next_marked_ = marked;
            marked = child;
        }
        CancelState* following = next_living(child);
        child->release();  // without the lock: the destructor takes it
        child = following;
    }
}

void CancelState::cancel_children(CancelReason reason) {
    CancelState* child = next_living(nullptr);
    while (child) {
        child->cancel(reason);
        CancelState* following = next_living(child);
        child->release();  // as above
        child = following;
    }
}

CancelState* CancelState::enter_keeper() {
    for (CancelState* state = this; state; state = state->parent_) {
        const NodeType* node_type = state->node_type_;
        if (node_type && node_type->enter && node_type->enter(*state)) return state;
        if (state->is_cut()) return nullptr;
    }
    return nullptr;
}

Error CancelState::error() const {
    return reason() == CancelReason::DeadlineExceeded ? ErrorKind::TimedOut : ErrorKind::Cancelled;
}

bool CancelState::is_below(const CancelState* other) const {
    const CancelState* state = this;
    while (state && state != other) state = state->parent_;
    return state == other;
}

const void* CancelState::find(const void* key) const {
    for (const CancelState* state = this; state; state = state->parent_) {
        if (const void* found = state->find_here(key)) return found;
    }
    return nullptr;
}

std::vector<CancelToken> CancelState::nodes_with(const void* key) {
    std::vector<CancelToken> found;
    std::vector<CancelToken> unvisited{CancelToken(this)};
    while (!unvisited.empty()) {
        CancelToken token = std::move(unvisited.back());
        unvisited.pop_back();
        CancelState& state = *token.state();
        // A node is visited twice if a sibling was moved away meanwhile: see next_living().
        auto is_same = [&](const CancelToken& other) { return other.state() == &state; };
        if (state.find_here(key) && std::ranges::none_of(found, is_same)) found.push_back(token);
        auto child = CancelToken::adopt(state.next_living(nullptr));
        while (child.state()) {
            auto following = CancelToken::adopt(state.next_living(child.state()));
            unvisited.push_back(std::move(child));
            child = std::move(following);
        }
    }
    return found;
}

// The first living child after `child` (or of all), with a reference. If `child` was moved away
// meanwhile, its siblings are those of another parent: then the walk begins again.
CancelState* CancelState::next_living(const CancelState* child) {
    SpinGuard guard(lock_);
    if (child && child->parent_ == this && child->is_cut()) child = nullptr;
    return first_living(child ? child->next_sibling_ : first_child_);
}

void CancelState::arm_deadline() {
    if (deadline().is_never() || is_cancelled()) return;
    if (!own_deadline_) return parent_->arm_deadline();
    Worker* worker = this_worker();
    if (!worker) return;
    std::unique_ptr<DeadlineTimer> spare;
    for (;;) {
        {
            SpinGuard guard(lock_);
            if (spare) {
                spare->next = std::move(timers_.next);
                timers_.next = std::move(spare);
            }
            bool armed = false;
            DeadlineTimer* timer = unset_timer(worker->scheduler(), armed);
            if (armed) return;
            if (timer) return timer->set(*worker);
        }
        // Without memory the timer of the other runtime still ends the token, while that one lives.
        spare.reset(new (std::nothrow) DeadlineTimer(*this));  // tidy: allow new: must not throw
        if (!spare) return;
    }
}

// With the lock held: a timer that is not set, or null. `armed`: that runtime has one that is set.
auto CancelState::unset_timer(const Scheduler& scheduler, bool& armed) -> DeadlineTimer* {
    WEFT_DASSERT(lock_.is_locked());
    DeadlineTimer* unset = nullptr;
    for (DeadlineTimer* timer = &timers_; timer; timer = timer->next.get()) {
        if (!timer->worker) {
            unset = timer;
        } else if (&timer->worker->scheduler() == &scheduler) {
            armed = true;
        }
    }
    return unset;
}

// With the token's lock held.
void CancelState::DeadlineTimer::set(Worker& its_worker) {
    WEFT_DASSERT(state.lock_.is_locked());
    WEFT_DASSERT(!worker, "a timer is in one wheel at a time");
    worker = &its_worker;
    state.references_.add_timer();
    worker->timers().set(*this, state.deadline_.instant());
}

bool CancelState::expire_if_due() {
    if (is_cancelled()) return true;
    Deadline deadline = this->deadline();
    if (deadline.is_never() || !deadline.expired(Clock::now())) return false;
    cancel(CancelReason::DeadlineExceeded);
    return true;
}

void CancelState::DeadlineTimer::on_end(Timer& timer, TimerEnd end) {
    auto& self = static_cast<DeadlineTimer&>(timer);
    CancelState& token = self.state;
    {
        SpinGuard guard(token.lock_);
        self.worker = nullptr;
        token.references_.end_timer();
    }
    if (end == TimerEnd::Due) token.cancel(CancelReason::DeadlineExceeded);
    token.release();
}

void CancelState::add_cell(WaitCell& cell) {
    WEFT_DASSERT(!cell.listed && cell.token == this, "a cell is listed once, by its own token");
    SpinGuard guard(lock_);
    cell.listed = true;
    cells_.push_back(cell);
}

void CancelState::list_late(WaitCell& cell) {
    WEFT_DASSERT(cell.lists_late && !cell.listed, "a lent token is listed at the first wait");
    cell.lists_late = false;
    cell.token->add_ref();
    cell.token->add_cell(cell);
}

void CancelState::remove_cell(WaitCell& cell) {
    WEFT_DASSERT(cell.listed, "a cell leaves the list once");
    SpinGuard guard(lock_);
    cell.listed = false;
    cells_.erase(cell);
}

void CancelListener::listen(CancelState* token) {
    WEFT_ASSERT(!token_, "a listener listens to one token");
    token->will_be_asked();  // not with its lock held
    token->add_ref();
    token_ = token;
    bool cancelled = false;
    {
        SpinGuard guard(token->lock_);
        cancelled = token->is_cancelled();
        if (!cancelled) token->listeners_.push_back(*this);
    }
    if (cancelled) callback_(*this, token->reason());
}

void CancelListener::stop() {
    if (!token_) return;
    {
        SpinGuard guard(token_->lock_);
        if (link_.is_linked()) token_->listeners_.erase(*this);
    }
    // Acquire: what the callback did is visible when the listener's owner goes on.
    for (unsigned attempt = 0; calling_.load(std::memory_order_acquire); ++attempt) {
        if (WEFT_PLANTED("cancel.listener_not_awaited")) break;
        env::spin_pause(attempt);
    }
    std::exchange(token_, nullptr)->release();
}

CancelToken CancelToken::current() { return CancelToken(current_cell().token); }

bool CancelToken::is_cancelled() const { return state_ && state_->expire_if_due(); }

CancelReason CancelToken::reason() const {
    return is_cancelled() ? state_->reason() : CancelReason::None;
}

Result<void> CancelToken::check() const {
    if (is_cancelled()) return state_->error();
    return {};
}

CancelSource::CancelSource(const CancelToken& parent, Deadline deadline)
    : CancelSource(CancelState::create(parent.state(), deadline)) {}

namespace {

// A node that a stop request cancels.
class StopState final : public CancelState {
public:
    static CancelState* create(CancelState* parent, std::stop_token stop) {
        auto* state = make<StopState>(parent);
        // Last, because a stop that was requested before calls back at once.
        state->request_.emplace(std::move(stop), [state] { state->on_request(); });
        return state;
    }

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<StopState>};

    explicit StopState(CancelState* parent) : CancelState(parent, Deadline::never(), &kNodeType) {}

    // The destructor of request_ waits for this call, so the node is readable; but its last
    // reference may be gone.
    void on_request() {
        if (!try_add_ref()) return;
        cancel(CancelReason::Cancelled);
        release();
    }

    std::optional<std::stop_callback<std::function<void()>>> request_;
};

}  // namespace

template <class StopToken>
    requires requires(const StopToken& stop) { stop.stop_possible(); }
CancelSource CancelSource::from(StopToken stop) {
    return CancelSource(StopState::create(current_cell().token, std::move(stop)));
}
template CancelSource CancelSource::from(std::stop_token stop);

CancelScope::CancelScope(CancelToken token) : token_(std::move(token)) {
    WaitCell& cell = current_cell();
    if (cell.lists_late) CancelState::list_late(cell);
    previous_ = cell.token;
    previous_listed_ = cell.listed;
    if (previous_listed_) previous_->remove_cell(cell);
    cell.token = token_.state();
    if (!cell.token) return;
    cell.token->add_cell(cell);
    cell.token->arm_deadline();
}

CancelScope::~CancelScope() {
    WaitCell& cell = current_cell();
    WEFT_ASSERT(cell.token == token_.state(), "cancel scopes end in reverse order");
    if (cell.token) cell.token->remove_cell(cell);
    cell.token = previous_;
    if (previous_listed_) previous_->add_cell(cell);
}

}  // namespace weft
