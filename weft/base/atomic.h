// Atomic<T>: std::atomic with a mandatory memory order.
//
// Every access names its order, so that the order can be justified beside the access. Tests hook in
// here: a WEFT_CHECKED build makes every access a scheduling point of the simulation, and a
// WEFT_MODEL build replaces the type by the model checker's.
// There are no stand-alone fences: the thread sanitizer does not understand them. Any thread.
//
// A library compiled without the thread sanitizer reports the accesses of an Atomic to a sanitizer
// that the program brings along. It does not report those of a SchedulerAtomic<T>, which is for the
// few atomics on the path of a context switch that order nothing but the scheduler's own memory.
#pragma once

#ifdef WEFT_MODEL

#include "weft/testing/model_atomic.h"

namespace weft {
template <class T>
using Atomic = model::Atomic<T>;
template <class T>
using SchedulerAtomic = model::Atomic<T>;
}  // namespace weft

#else

#include <atomic>

#include "weft/base/sanitizer.h"

#ifdef WEFT_CHECKED
#include "weft/base/env.h"
#endif

namespace weft {

// Whether an atomic reports its accesses to a thread sanitizer that this code was compiled without.
enum class TsanReports : bool { No, Yes };

template <class T, TsanReports reports = TsanReports::Yes>
class Atomic {
public:
    constexpr Atomic() noexcept : value_(T{}) {}
    explicit constexpr Atomic(T value) noexcept : value_(value) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;

    T load(std::memory_order order) const noexcept {
        point();
        T value = value_.load(order);
        after(order);
        return value;
    }
    void store(T value, std::memory_order order) noexcept {
        before(order);
#ifdef WEFT_EMULATED
        // QEMU on x86 lets a later LDAR overtake the STLR that this is on aarch64: two threads that
        // each store and then load the other's variable may both miss it. An exchange is not
        // overtaken.
        if (order == std::memory_order_seq_cst) {
            value_.exchange(value, order);
            return;
        }
#endif
        value_.store(value, order);
    }
    T exchange(T value, std::memory_order order) noexcept {
        before(order);
        T former = value_.exchange(value, order);
        after(order);
        return former;
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) noexcept {
        before(success);
        bool exchanged = value_.compare_exchange_strong(expected, desired, success, failure);
        after(exchanged ? success : failure);
        return exchanged;
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
        before(success);
        bool exchanged = value_.compare_exchange_weak(expected, desired, success, failure);
        after(exchanged ? success : failure);
        return exchanged;
    }
    T fetch_add(T value, std::memory_order order) noexcept {
        before(order);
        T former = value_.fetch_add(value, order);
        after(order);
        return former;
    }
    T fetch_sub(T value, std::memory_order order) noexcept {
        before(order);
        T former = value_.fetch_sub(value, order);
        after(order);
        return former;
    }
    T fetch_or(T value, std::memory_order order) noexcept {
        before(order);
        T former = value_.fetch_or(value, order);
        after(order);
        return former;
    }
    T fetch_and(T value, std::memory_order order) noexcept {
        before(order);
        T former = value_.fetch_and(value, order);
        after(order);
        return former;
    }

    // The address for a futex call. The kernel compares the word; nothing else may use it.
    T* futex_address() noexcept { return reinterpret_cast<T*>(&value_); }

private:
    // Always inline, so that the order is a constant and the comparison costs nothing.
    [[gnu::always_inline]] void before(std::memory_order order) const noexcept {
        point();
        if constexpr (reports == TsanReports::Yes) {
            if (order >= std::memory_order_release) sanitizer::release(this);
        }
    }
    [[gnu::always_inline]] void after(std::memory_order order) const noexcept {
        if constexpr (reports == TsanReports::Yes) {
            if (order != std::memory_order_relaxed && order != std::memory_order_release)
                sanitizer::acquire(this);
        }
    }
    static void point() noexcept {
#ifdef WEFT_CHECKED
        env::step();
#endif
    }

    std::atomic<T> value_;
};

template <class T>
using SchedulerAtomic = Atomic<T, TsanReports::No>;

}  // namespace weft

#endif
