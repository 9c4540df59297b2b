// Sleepers: the workers that sleep or are about to, and how many search for work to steal.
//
// A worker announces its sleep and then looks for work a last time; a producer queues its work and
// then looks for a sleeper. All accesses are seq_cst, so at least one sees the other. The producer
// that clears the bit of a sleeper wakes it, so that a sleeper is woken once. While a worker
// searches nobody is woken: it finds the work, or looks once more before it sleeps.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

namespace weft {

// The steps and memory orders; sleep_model_test.cpp shows what each is needed for.
struct SleepOrder {
    static constexpr std::memory_order kAnnounce = std::memory_order_seq_cst;
    static constexpr bool kAnnouncesFirst = true;
    static constexpr bool kLooksAgain = true;
};

template <class Order>
class BasicSleepers {
public:
    static constexpr unsigned kNobody = ~0U;

    // By a worker. True: it may sleep, and is woken when work comes; it calls wake_up() then.
    // False: `sees_work` has found some.
    template <class SeesWork>
    [[nodiscard]] bool try_fall_asleep(unsigned worker, SeesWork sees_work) {
        bool seen = !Order::kAnnouncesFirst && sees_work();
        // seq_cst: announced before the last look.
        [[maybe_unused]] std::uint64_t before = asleep_.fetch_or(bit_of(worker), Order::kAnnounce);
        WEFT_DASSERT((before & bit_of(worker)) == 0, "a worker announces its sleep once");
        if (Order::kAnnouncesFirst && Order::kLooksAgain) seen = sees_work();
        if (seen) wake_up(worker);
        return !seen;
    }
    void wake_up(unsigned worker) { asleep_.fetch_and(~bit_of(worker), std::memory_order_seq_cst); }

    // By a worker, around its search for work to steal.
    void begin_search() { searching_.fetch_add(1, std::memory_order_seq_cst); }
    void end_search() {
        // seq_cst: as in claim_one().
        [[maybe_unused]] std::uint32_t before = searching_.fetch_sub(1, std::memory_order_seq_cst);
        WEFT_DASSERT(before != 0, "a search ends as often as it began");
    }

    // After work was queued: the one of these workers that the caller has to wake, or kNobody.
    [[nodiscard]] unsigned claim_one(std::uint64_t of_these) {
        if (searching_.load(std::memory_order_seq_cst) != 0) return kNobody;
        std::uint64_t asleep = look() & of_these;
        for (; asleep != 0; asleep &= asleep - 1) {
            auto worker = static_cast<unsigned>(std::countr_zero(asleep));
            if (take_off(worker)) return worker;
        }
        return kNobody;
    }
    // The same for one worker, also while others search.
    [[nodiscard]] bool claim(unsigned worker) {
        return (look() & bit_of(worker)) != 0 && take_off(worker);
    }

    // A bit for each worker that sleeps or is about to.
    std::uint64_t look() const { return asleep_.load(std::memory_order_seq_cst); }
    // A hint, for a caller that will look again.
    std::uint64_t guess() const { return asleep_.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t bit_of(unsigned worker) { return std::uint64_t{1} << worker; }
    bool take_off(unsigned worker) {
        return asleep_.fetch_and(~bit_of(worker), std::memory_order_seq_cst) & bit_of(worker);
    }

    SchedulerAtomic<std::uint64_t> asleep_{0};
    SchedulerAtomic<std::uint32_t> searching_{0};
};

using Sleepers = BasicSleepers<SleepOrder>;

}  // namespace weft
