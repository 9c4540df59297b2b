#include "weft/async/internal/scope_core.h"

#include <algorithm>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/fiber.h"

namespace weft::async_internal {

using sync_internal::Claimed;
using sync_internal::Until;

ScopeCore* ScopeCore::create(CancelState* parent, std::uint64_t rank) {
    ScopeCore* outer = around(parent);
    if (outer) rank = std::max(rank, outer->step_.rank() + 1);
    // A scope that is opened below one that has ended belongs to the next outer one that has not.
    return make<ScopeCore>(parent, parent ? parent->enter_keeper() : nullptr, rank, Use::Once);
}

ScopeCore* ScopeCore::create_recurring(CancelState* parent) {
    return make<ScopeCore>(parent, nullptr, 0, Use::Recurring);
}

ScopeCore* ScopeCore::around(const CancelState* state) {
    for (; state; state = state->is_cut() ? nullptr : state->parent()) {
        if (const void* found = state->find_here(&kKey))
            return static_cast<ScopeCore*>(const_cast<void*>(found));
    }
    return nullptr;
}

const void* ScopeCore::find_own(const CancelState& state, const void* key) {
    const auto& self = static_cast<const ScopeCore&>(state);
    if (key == &kKey) return &self;
    // Shutdown does not wait for a recurring scope: it may be kept, unused, in a pool.
    if (key == &StopStep::kKey && self.use_ == Use::Once) return &self.step_;
    return nullptr;
}

ScopeCore::ScopeCore(CancelState* parent, CancelState* outer, std::uint64_t rank, Use use)
    : CancelState(parent, Deadline::never(), &kNodeType),
      outer_(outer),
      // A recurring scope is made in a worker's loop, which has no wait cell.
      step_(rank, use == Use::Once ? &current_cell() : nullptr),
      use_(use) {}

ScopeCore::~ScopeCore() {
    WEFT_ASSERT(state_ == State::Ended && alive_ == 0, "a scope was never ended");
}

void ScopeCore::notify_observed(CancelState& state) {
    auto& self = static_cast<ScopeCore&>(state);
    if (self.on_observed_.notify) self.on_observed_.notify(self.on_observed_.argument);
}

// ---------------------------------------------------------------- what is alive

// Lock held.
void ScopeCore::touch() {
    WEFT_DASSERT(lock_.is_locked());
    // Relaxed: see is_touched(). Tested first, because it is mostly set already.
    if (!touched_.load(std::memory_order_relaxed)) touched_.store(true, std::memory_order_relaxed);
}

bool ScopeCore::begin_job() {
    SpinGuard guard(lock_);
    if (state_ != State::Open) return false;
    ++alive_;
    return true;
}

bool ScopeCore::enter() {
    SpinGuard guard(lock_);
    // The context of a recurring scope does not end: it would not cancel a late entry.
    bool may_end = state_ != State::Open && (alive_ == 0 || use_ == Use::Recurring);
    if (WEFT_PLANTED("scope.lets_in_late")) may_end = state_ == State::Ended;
    if (may_end) return false;
    ++alive_;
    touch();
    return true;
}

void ScopeCore::leave() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(alive_ > 0, "more has ended in a scope than began in it");
        WEFT_ASSERT(state_ != State::Ended || use_ == Use::Recurring,
                    "something has ended after its scope");
        if (--alive_ == 0) idle_waiters_.claim_all(claimed);
    }
    claimed.resume_all();
}

void ScopeCore::wait_idle() {
    lock_.lock();
    if (alive_ == 0) return lock_.unlock();
    sync_internal::WaitEntry entry;
    // Only leave() ends this wait.
    Result<void> waited = idle_waiters_.wait(lock_, entry, WaitReason::Job, this,
                                             Until(Deadline::never(), Cancellable::No));
    WEFT_ASSERT(waited.has_value(), "the end of a scope ends in no other way than by leave()");
}

void ScopeCore::finish(Result<void> outcome) {
    // A job that ended because its scope was cancelled has not failed.
    bool heeded = !outcome && is_cancelled() && outcome.error().kind() == error().kind();
    if (!outcome && !heeded) errors_.add(outcome.error(), *this);
    leave();
}

// ---------------------------------------------------------------- the end

void ScopeCore::push(Cleanup& cleanup) {
    SpinGuard guard(lock_);
    WEFT_ASSERT(state_ != State::Ended, "a cleanup was added to a scope that has ended");
    Cleanup** place = &cleanups_;
    while (WEFT_PLANTED("scope.cleans_up_oldest_first") && *place) place = &(*place)->next;
    cleanup.next = *place;
    *place = &cleanup;
    touch();
}

Cleanup* ScopeCore::pop() {
    SpinGuard guard(lock_);
    Cleanup* newest = cleanups_;
    if (newest) cleanups_ = newest->next;
    return newest;
}

void ScopeCore::run_cleanups() {
    while (Cleanup* cleanup = pop()) {
        Result<void> outcome = cleanup->run(*cleanup);
        if (!outcome) fiber_internal::dropped("a cleanup", outcome.error(), this);
    }
}

Result<void> ScopeCore::end() {
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(use_ == Use::Once, "a recurring scope ends in rounds");
        WEFT_ASSERT(state_ == State::Open, "a scope was ended twice");
        state_ = State::Ending;
    }
    cancel(CancelReason::Cancelled);
    if (WEFT_PLANTED("scope.cleans_up_too_early")) run_cleanups();
    wait_idle();
    run_cleanups();
    operations_.close();
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(alive_ == 0 && !cleanups_, "something is alive after its scope");
        state_ = State::Ended;
    }
    arena_.release();
    Result<void> outcome;
    if (std::optional<Error> first = errors_.get()) outcome = *first;
    step_.end();
    if (outer_) outer_->leave_keeper();
    return outcome;
}

bool ScopeCore::has_ended() {
    SpinGuard guard(lock_);
    return state_ == State::Ended;
}

// Code that still holds the context can start nothing in the scope any more. Does not wait.
void ScopeCore::retire() {
    WEFT_ASSERT(use_ == Use::Recurring, "a scope of run_scope() ends by end()");
    SpinGuard guard(lock_);
    state_ = State::Ended;
}

void ScopeCore::end_round() {
    WEFT_ASSERT(use_ == Use::Recurring, "only a scope that recurs has rounds");
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(state_ == State::Open, "one round ends at a time, and before the scope");
        state_ = State::Ending;
    }
    cancel_children(CancelReason::Cancelled);
    wait_idle();
    run_cleanups();
    arena_.release();
    SpinGuard guard(lock_);
    WEFT_ASSERT(alive_ == 0, "something is alive after its round");
    state_ = State::Open;
    // Relaxed: see is_touched().
    touched_.store(false, std::memory_order_relaxed);
}

}  // namespace weft::async_internal
