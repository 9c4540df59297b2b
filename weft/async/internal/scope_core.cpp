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
    return make<ScopeCore>(parent, keeper_of(parent), rank);
}

ScopeCore* ScopeCore::keeper_of(const CancelState* state) {
    ScopeCore* keeper = around(state);
    // What begins below a scope that has ended belongs to the next one that has not.
    while (keeper && !keeper->enter()) keeper = keeper->outer_;
    return keeper;
}

ScopeCore* ScopeCore::around(const CancelState* state) {
    return state ? static_cast<ScopeCore*>(const_cast<void*>(state->find(&kKey))) : nullptr;
}

const void* ScopeCore::find_own(const CancelState& state, const void* key) {
    const auto& self = static_cast<const ScopeCore&>(state);
    if (key == &kKey) return &self;
    if (key == &StopStep::kKey) return &self.step_;
    return nullptr;
}

ScopeCore::ScopeCore(CancelState* parent, ScopeCore* outer, std::uint64_t rank)
    : CancelState(parent, Deadline::never(), &kNature), outer_(outer), step_(rank) {}

ScopeCore::~ScopeCore() { WEFT_ASSERT(state_ == State::Ended, "a scope was never ended"); }

// ---------------------------------------------------------------- what is alive

bool ScopeCore::begin_job() {
    SpinGuard guard(lock_);
    if (state_ != State::Open) return false;
    ++alive_;
    return true;
}

bool ScopeCore::enter() {
    SpinGuard guard(lock_);
    bool may_end = state_ != State::Open && alive_ == 0;
    if (WEFT_PLANTED("scope.lets_in_late")) may_end = state_ == State::Ended;
    if (may_end) return false;
    ++alive_;
    return true;
}

void ScopeCore::leave() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(alive_ > 0, "more has ended in a scope than began in it");
        if (--alive_ == 0) idle_waiters_.claim_all(claimed);
    }
    claimed.resume_all();
}

void ScopeCore::wait_idle() {
    lock_.lock();
    if (alive_ == 0) return lock_.unlock();
    sync_internal::WaitEntry entry;
    // It ends in no other way than by leave().
    static_cast<void>(idle_waiters_.wait(lock_, entry, WaitReason::Job, this,
                                         Until(Deadline::never(), Cancellable::No)));
}

void ScopeCore::finish(Result<void> outcome) {
    // A job that heeds the end of its scope has not failed.
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
        WEFT_ASSERT(state_ == State::Open, "a scope was ended twice");
        state_ = State::Ending;
    }
    cancel(CancelReason::Cancelled);
    if (WEFT_PLANTED("scope.cleans_up_too_early")) run_cleanups();
    wait_idle();
    run_cleanups();
    ledger_.close();
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(alive_ == 0 && !cleanups_, "something is alive after its scope");
        state_ = State::Ended;
    }
    arena_.release();
    Result<void> outcome;
    if (std::optional<Error> first = errors_.get()) outcome = *first;
    step_.end();
    if (outer_) outer_->leave();
    return outcome;
}

}  // namespace weft::async_internal
