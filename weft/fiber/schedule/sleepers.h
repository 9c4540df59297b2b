// Sleepers: the workers that are asleep or about to be, and those that look for work to steal.
//
// A worker announces its sleep and then looks for work a last time; who brings work queues it and
// then looks for a sleeper. All of it is seq_cst, so one of the two sees the other. Whoever takes
// the mark of a sleeper off does the waking, so that one sleeper is woken once. While somebody
// searches nobody is woken: he finds the work, or else looks once more before he sleeps.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/base/atomic.h"

namespace weft {

// The steps and orders; the checker's test shows what each is for.
struct SleepOrder {
    static constexpr std::memory_order kAnnounce = std::memory_order_seq_cst;
    static constexpr bool kAnnouncesFirst = true;
    static constexpr bool kLooksAgain = true;
};

template <class Order>
class BasicSleepers {
public:
    static constexpr unsigned kNobody = ~0U;

    // By a worker. True: it may sleep, and is woken when work comes; then wake_up(). False:
    // `sees_work` has found some.
    template <class SeesWork>
    [[nodiscard]] bool try_fall_asleep(unsigned worker, SeesWork sees_work) {
        bool seen = !Order::kAnnouncesFirst && sees_work();
        // seq_cst: announced before the last look.
        asleep_.fetch_or(bit_of(worker), Order::kAnnounce);
        if (Order::kAnnouncesFirst && Order::kLooksAgain) seen = sees_work();
        if (seen) wake_up(worker);
        return !seen;
    }
    void wake_up(unsigned worker) { asleep_.fetch_and(~bit_of(worker), std::memory_order_seq_cst); }

    // Who looks for work to steal.
    void begin_search() { searching_.fetch_add(1, std::memory_order_seq_cst); }
    void end_search() { searching_.fetch_sub(1, std::memory_order_seq_cst); }

    // After work was queued: which of these workers the caller has to wake.
    [[nodiscard]] unsigned claim_one(std::uint64_t of_these) {
        if (searching_.load(std::memory_order_seq_cst) != 0) return kNobody;
        std::uint64_t asleep = look() & of_these;
        for (; asleep != 0; asleep &= asleep - 1) {
            auto worker = static_cast<unsigned>(std::countr_zero(asleep));
            if (take_off(worker)) return worker;
        }
        return kNobody;
    }
    // The same of this very worker, whoever searches.
    [[nodiscard]] bool claim(unsigned worker) {
        return (look() & bit_of(worker)) != 0 && take_off(worker);
    }

    // A bit for each that is asleep or about to be.
    std::uint64_t look() const { return asleep_.load(std::memory_order_seq_cst); }
    // A guess, for one who will look again.
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
