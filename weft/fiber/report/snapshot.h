// A copy of what a worker's thread is in: its registers and the stack of the fiber that it runs.
//
// The copy is taken while the program goes on, and unwound afterwards by whoever asked for it; so
// nothing but copying happens in the thread that is looked at, which may be inside the allocator,
// the dynamic linker or an unwinder of its own. A thread that waits in the kernel is not even
// disturbed: the kernel tells where it waits, and a signal would end its wait early (EINTR). One
// that computes, at two looks, is sent kSnapshotSignal, whose handler copies.
//
// Any thread. On the real machine only.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/base/atomic.h"

namespace weft {

struct Fiber;
class Scheduler;
class Worker;

// Ignored by default, so that a stray one is harmless. Left alone where the program has a handler
// of its own for it.
inline constexpr int kSnapshotSignal = SIGURG;

struct StackSnapshot {
    static constexpr std::size_t kRegisterCount = 17;  // of x86_64 as DWARF counts; the last is rip
    static constexpr std::size_t kBasePointer = 6;
    static constexpr std::size_t kStackPointer = 7;
    static constexpr std::size_t kInstruction = 16;
    static constexpr std::size_t kWordsMax = 8192;

    Fiber* fiber = nullptr;  // null: none was running
    std::uintptr_t registers[kRegisterCount] = {};
    std::uintptr_t begin = 0;           // of what was copied: the red zone comes along
    std::vector<std::uintptr_t> words;  // from there upwards
    std::size_t word_count = 0;         // while it is taken: room is made before
};

// What others need to look at the thread of a worker. Lives in the frame of that thread.
class ThreadSeat {
public:
    explicit ThreadSeat(Worker& worker);  // on the worker's thread
    ~ThreadSeat();
    ThreadSeat(const ThreadSeat&) = delete;
    ThreadSeat& operator=(const ThreadSeat&) = delete;

    // In the handler.
    void answer(void* signal_context);

private:
    friend class ThreadSeats;
    enum State : std::uint32_t { kIdle, kAsked, kCopying, kDone };

    bool take(StackSnapshot& snapshot);
    bool take_waiting(StackSnapshot& snapshot, bool& computes);
    bool take_by_signal(StackSnapshot& snapshot);

    Worker& worker_;
    const std::uint64_t thread_;
    const int kernel_id_;
    Atomic<std::uint32_t> state_{kIdle};
    StackSnapshot* asked_for_ = nullptr;
    ThreadSeat* next_ = nullptr;
};

// Of the fiber that each worker runs; of all runtimes where `scheduler` is null.
std::vector<StackSnapshot> snapshots_of(const Scheduler* scheduler);
// Of this worker. False: it runs none, or did not answer in time.
bool snapshot_of(const Worker& worker, StackSnapshot& snapshot);

// How the thread of a worker has spent its time: for whoever wonders why it does not move.
struct ThreadTimes {
    bool waits = false;       // in the kernel
    std::int64_t cpu_ns = 0;  // since it was started
};
bool times_of(const Worker& worker, ThreadTimes& times);

}  // namespace weft
