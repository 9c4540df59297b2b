#include "weft/sync/select.h"

#include <array>
#include <bit>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/turn.h"

namespace weft::sync_internal {
namespace {

using Cases = std::span<SelectCase* const>;
constexpr std::size_t kNone = SIZE_MAX;

// The locks of all channels, each once, in the order of the channels' ids: two selects over the
// same channels take them in the same order.
class ChannelLocks {
public:
    explicit ChannelLocks(Cases cases) {
        for (SelectCase* one : cases) {
            if (one->core()) add(*one);
        }
    }
    void lock() {
        for (unsigned i = 0; i < count_; ++i) {
            WEFT_DASSERT(i == 0 || cases_[i - 1]->channel_id() < cases_[i]->channel_id() ||
                             WEFT_PLANTED("select.locks_unordered"),
                         "two selects that lock in different orders wait for each other for ever");
            cases_[i]->core()->lock_.lock();
        }
    }
    void unlock() {
        for (unsigned i = 0; i < count_; ++i) cases_[i]->core()->lock_.unlock();
    }

private:
    void add(SelectCase& one) {
        unsigned place = count_;
        if (WEFT_PLANTED("select.locks_unordered")) {
            for (unsigned i = 0; i < count_; ++i) {
                if (cases_[i]->core() == one.core()) return;
            }
            cases_[count_++] = &one;
            return;
        }
        while (place != 0 && cases_[place - 1]->channel_id() > one.channel_id()) --place;
        if (place != 0 && cases_[place - 1]->core() == one.core()) return;
        for (unsigned i = count_++; i != place; --i) cases_[i] = cases_[i - 1];
        cases_[place] = &one;
    }

    std::array<SelectCase*, kSelectCasesMax> cases_;  // the first count_ are set
    unsigned count_ = 0;
};

std::size_t index_of(Cases cases, CaseKind kind) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (cases[i]->kind() == kind) return i;
    }
    return kNone;
}

// The index of one of the bits, each with the same probability. There is at least one.
unsigned pick(std::uint32_t bits) {
    auto count = static_cast<unsigned>(std::popcount(bits));
    WEFT_DASSERT(count != 0);
    if (count > 1) {
        // The upper half as a fraction of 2^32: cheaper than a remainder.
        std::uint64_t fraction = env::random(RandomStream::Scheduler) >> 32;
        for (std::uint64_t skip = fraction * count >> 32; skip != 0; --skip) bits &= bits - 1;
    }
    return static_cast<unsigned>(std::countr_zero(bits));
}

// Called without the locks: checking a token may expire its deadline, which calls its listeners.
std::uint32_t ready_without_channel(Cases cases) {
    std::uint32_t ready = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SelectCase& one = *cases[i];
        bool is_ready = (one.kind() == CaseKind::Timeout && one.deadline().expired(Clock::now())) ||
                        (one.kind() == CaseKind::Cancel && one.token().is_cancelled());
        if (is_ready) ready |= 1U << i;
    }
    return ready;
}

struct Choice {
    std::size_t index = kNone;
    Attempt attempt = Attempt::MustWait;
    WaitRef wake;
};

// Locks held.
Choice attempt_any(Cases cases, std::uint32_t ready) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (cases[i]->core() && cases[i]->is_ready()) ready |= 1U << i;
    }
    while (ready != 0) {
        Choice choice;
        choice.index = pick(ready);
        SelectCase& chosen = *cases[choice.index];
        choice.attempt = chosen.core() ? chosen.attempt(choice.wake) : Attempt::Done;
        if (choice.attempt != Attempt::MustWait) return choice;
        ready &= ~(1U << choice.index);
    }
    return {};
}

// Called with the locks held; releases them.
void queue_everywhere(Cases cases, ChannelLocks& locks, WaitRef ref) {
    std::size_t queued = 0;
    for (SelectCase* one : cases) {
        if (!one->core()) continue;
        if (WEFT_PLANTED("select.drops_second_case") && ++queued == 2) continue;
        WEFT_DASSERT(one->entry().outcome == ChannelEntry::Outcome::None,
                     "a case is made for one call of select");
        one->entry().ref = ref;
        one->queue()->push_back(one->entry());
    }
    locks.unlock();
}

// The case whose entry was claimed, if any.
std::size_t leave_everywhere(Cases cases) {
    std::size_t claimed = kNone;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SelectCase& one = *cases[i];
        if (!one.core()) continue;
        if (one.entry().outcome != ChannelEntry::Outcome::None) {
            claimed = i;
            continue;
        }
        if (WEFT_PLANTED("select.leaves_its_entries")) continue;
        SpinGuard guard(one.core()->lock_);
        one.queue()->remove(one.entry());
    }
    return claimed;
}

// Called with the locks held; releases them.
Result<std::size_t> wait_for_any(Cases cases, ChannelLocks& locks) {
    std::size_t timeout = index_of(cases, CaseKind::Timeout);
    std::size_t cancel = index_of(cases, CaseKind::Cancel);
    Deadline deadline = timeout == kNone ? Deadline::never() : cases[timeout]->deadline();
    CancelToken token = cancel == kNone ? CancelToken() : cases[cancel]->token();

    Waiter waiter(WaitReason::Select);
    queue_everywhere(cases, locks, waiter.ref());
    Wake wake = waiter.wait(deadline, token.state());
    std::size_t claimed = leave_everywhere(cases);
    if (wake == Wake::Ready) {
        WEFT_ASSERT(claimed != kNone, "a select was woken for nothing");
        return claimed;
    }
    WEFT_DASSERT(claimed == kNone, "a case was claimed of a select that ended otherwise");
    if (wake == Wake::TimedOut) {
        WEFT_ASSERT(timeout != kNone, "a select without a deadline timed out");
        return timeout;
    }
    if (cancel != kNone && token.is_cancelled()) return cancel;
    return waiter.to_result(wake).error();
}

}  // namespace

Result<std::size_t> choose(Cases cases) {
    WEFT_DASSERT(cases.size() <= kSelectCasesMax, "each case has a bit and a place for its lock");
    // With an otherwise() case it never waits.
    if (index_of(cases, CaseKind::Otherwise) == kNone) {
        turn::may_wait("select", cases.data());
    } else {
        turn::step("select", cases.data());
    }
    ChannelLocks locks(cases);
    for (;;) {
        std::uint32_t ready = ready_without_channel(cases);
        locks.lock();
        Choice choice = attempt_any(cases, ready);
        if (choice.index == kNone) {
            std::size_t otherwise = index_of(cases, CaseKind::Otherwise);
            if (otherwise == kNone) return wait_for_any(cases, locks);
            locks.unlock();
            return otherwise;
        }
        locks.unlock();
        if (choice.wake.cell()) choice.wake.resume();
        if (choice.attempt != Attempt::MustGrow) return choice.index;
        Attempt grown = cases[choice.index]->grow();
        if (grown != Attempt::Done) return error_of(grown);
    }
}

}  // namespace weft::sync_internal
