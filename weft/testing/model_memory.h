// The memory model of the checker, an operational form of C++20's. Used by model_execution.h alone.
//
// Every atomic has its modification order, which is the order in which its stores were executed.
// A load may read any store that coherence leaves it: none older than what the thread, or anything
// that happens before the load, has already seen or written there. Happens-before is kept in vector
// clocks: a release store carries the clock of its thread, an acquire load that reads it (or a
// read-modify-write behind it) takes it over. seq_cst accesses have one total order, that of their
// execution: on each atomic a seq_cst load reads nothing older than the last seq_cst store, or than
// what an earlier seq_cst load has read.
//
// NB: behaviours in which program order and modification order (or reads-from) form a cycle do not
// appear: "2+2W" and load buffering with relaxed accesses. loom and Relacy leave them out too.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

namespace weft::model {

inline constexpr unsigned kThreadsMax = 8;  // the body's own included

using ThreadIndex = std::uint8_t;
using StoreIndex = std::uint32_t;
using LocationIndex = std::uint32_t;

inline bool acquires(std::memory_order order) noexcept {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
}
inline bool releases(std::memory_order order) noexcept {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}
inline bool is_seq_cst(std::memory_order order) noexcept {
    return order == std::memory_order_seq_cst;
}

class VectorClock {
public:
    std::uint32_t& operator[](ThreadIndex thread) noexcept { return epochs_[thread]; }
    std::uint32_t operator[](ThreadIndex thread) const noexcept { return epochs_[thread]; }

    void join(const VectorClock& other) noexcept {
        for (unsigned i = 0; i < kThreadsMax; ++i) {
            epochs_[i] = std::max(epochs_[i], other.epochs_[i]);
        }
    }
    bool covers(const VectorClock& other) const noexcept {
        for (unsigned i = 0; i < kThreadsMax; ++i) {
            if (other.epochs_[i] > epochs_[i]) return false;
        }
        return true;
    }

private:
    std::array<std::uint32_t, kThreadsMax> epochs_{};
};

struct Store {
    std::uint64_t value;
    ThreadIndex thread;
    VectorClock release;  // an acquire that reads this joins it; empty when relaxed
};

// One atomic of the program.
class Location {
public:
    // The error of an access by a thread with this clock; null when it is allowed.
    const char* refuse(const VectorClock& clock) const noexcept {
        if (!alive_) return "an atomic is used after its end";
        if (creation_epoch_ > clock[creator_]) {
            return "an atomic is used by a thread that its construction does not happen before";
        }
        return nullptr;
    }
    // The error of a destruction, which every access must happen before; null when it is allowed.
    const char* refuse_end(const VectorClock& clock) const noexcept {
        if (!alive_) return "an atomic ends twice";
        if (!clock.covers(accesses_)) {
            return "an atomic ends while another thread may still use it";
        }
        return nullptr;
    }

    void begin(std::uint64_t initial, ThreadIndex creator, std::uint32_t epoch) {
        stores_.clear();
        seen_.clear();
        sleepers_.clear();
        seq_cst_floor_ = 0;
        accesses_ = VectorClock();
        alive_ = true;
        name_ = nullptr;
        creator_ = creator;
        creation_epoch_ = epoch;
        stores_.push_back(Store{initial, creator, VectorClock()});
    }
    void end() noexcept { alive_ = false; }

    StoreIndex latest() const noexcept { return static_cast<StoreIndex>(stores_.size() - 1); }
    const Store& store(StoreIndex index) const noexcept { return stores_[index]; }
    std::uint64_t latest_value() const noexcept { return stores_.back().value; }

    // The oldest store that a load by a thread with this clock may read.
    StoreIndex oldest_readable(const VectorClock& clock, std::memory_order order) const noexcept {
        StoreIndex oldest = is_seq_cst(order) ? seq_cst_floor_ : 0;
        for (const Seen& seen : seen_) {
            if (seen.epoch <= clock[seen.thread]) oldest = std::max(oldest, seen.store);
        }
        return oldest;
    }

    void read(StoreIndex index, ThreadIndex thread, VectorClock& clock, std::memory_order order) {
        see(index, thread, clock);
        if (is_seq_cst(order)) seq_cst_floor_ = std::max(seq_cst_floor_, index);
        if (acquires(order)) clock.join(stores_[index].release);
    }

    void write(std::uint64_t value, ThreadIndex thread, const VectorClock& clock,
               std::memory_order order) {
        append(value, thread, clock, order, VectorClock());
    }

    // Reads the latest store and writes behind it, which continues the release sequence.
    void update(std::uint64_t value, ThreadIndex thread, VectorClock& clock,
                std::memory_order order) {
        VectorClock inherited = stores_.back().release;
        if (acquires(order)) clock.join(inherited);
        append(value, thread, clock, order, inherited);
    }

    // Later loads of the thread read `index` or something newer.
    void see(StoreIndex index, ThreadIndex thread, const VectorClock& clock) {
        accesses_[thread] = clock[thread];
        for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
            if (seen->thread != thread) continue;
            if (seen->store >= index) return;  // the older entry is stronger
            break;
        }
        seen_.push_back(Seen{clock[thread], index, thread});
    }

    std::vector<ThreadIndex>& sleepers() noexcept { return sleepers_; }  // in futex_wait()
    void set_name(const char* name) noexcept { name_ = name; }
    const char* name() const noexcept { return name_; }

private:
    struct Seen {
        std::uint32_t epoch;
        StoreIndex store;
        ThreadIndex thread;
    };

    void append(std::uint64_t value, ThreadIndex thread, const VectorClock& clock,
                std::memory_order order, VectorClock release) {
        if (releases(order)) release.join(clock);
        stores_.push_back(Store{value, thread, release});
        see(latest(), thread, clock);
        if (is_seq_cst(order)) seq_cst_floor_ = latest();
    }

    std::vector<Store> stores_;
    std::vector<Seen> seen_;
    std::vector<ThreadIndex> sleepers_;
    StoreIndex seq_cst_floor_ = 0;
    VectorClock accesses_;  // the last access of each thread
    const char* name_ = nullptr;
    std::uint32_t creation_epoch_ = 0;
    ThreadIndex creator_ = 0;
    bool alive_ = false;
};

// The atomics of one execution. Their memory is reused by the next one.
class Memory {
public:
    void clear() noexcept { used_ = 0; }

    LocationIndex create(std::uint64_t initial, ThreadIndex creator, std::uint32_t epoch) {
        if (used_ == locations_.size()) locations_.emplace_back();
        locations_[used_].begin(initial, creator, epoch);
        return used_++;
    }
    Location& operator[](LocationIndex index) noexcept { return locations_[index]; }
    const Location& operator[](LocationIndex index) const noexcept { return locations_[index]; }

private:
    std::deque<Location> locations_;
    LocationIndex used_ = 0;
};

}  // namespace weft::model
