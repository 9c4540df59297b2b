// StackSnapshot: a copy of the registers of a worker's thread and of the stack of the fiber that it
// runs.
//
// The copy is taken while the program goes on, and unwound afterwards by the thread that wants it.
// So nothing but copying happens in the examined thread, which may be inside the allocator, the
// dynamic linker or an unwinder of its own. A thread that waits in the kernel is not disturbed: the
// kernel tells where it waits, and a signal could end its wait early (EINTR). A thread that
// computes, at two tests in a row, is sent kSnapshotSignal, whose handler makes the copy.
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
    std::uintptr_t begin = 0;           // the address of words[0]; the red zone is included
    std::vector<std::uintptr_t> words;  // the stack, upwards
    std::size_t word_count = 0;         // how many were copied; `words` may be larger meanwhile
};

// Makes the thread of a worker known as one of which snapshots can be taken. Lives in the frame of
// that thread's main function.
class SnapshotTarget {
public:
    explicit SnapshotTarget(Worker& worker);  // on the worker's thread
    ~SnapshotTarget();
    SnapshotTarget(const SnapshotTarget&) = delete;
    SnapshotTarget& operator=(const SnapshotTarget&) = delete;

    // In the handler of kSnapshotSignal, on the examined thread.
    void answer(void* signal_context);

private:
    friend class SnapshotTargets;
    enum State : std::uint32_t { kIdle, kAsked, kCopying, kDone };

    bool take(StackSnapshot& snapshot);
    bool take_waiting(StackSnapshot& snapshot, bool& computes);
    bool take_by_signal(StackSnapshot& snapshot);

    Worker& worker_;
    const std::uint64_t thread_;
    const int kernel_id_;
    Atomic<std::uint32_t> state_{kIdle};
    StackSnapshot* asked_for_ = nullptr;
    SnapshotTarget* next_ = nullptr;
};

// Snapshots of the fibers that the workers run; of all runtimes where `scheduler` is null.
std::vector<StackSnapshot> snapshots_of(const Scheduler* scheduler);
// False: the worker runs no fiber, or did not answer in time.
bool snapshot_of(const Worker& worker, StackSnapshot& snapshot);

// How the thread of a worker has spent its time: tells the monitor whether a fiber that does not
// yield computes or blocks.
struct ThreadTimes {
    bool waits = false;       // in the kernel
    std::int64_t cpu_ns = 0;  // since it was started
};
bool times_of(const Worker& worker, ThreadTimes& times);

}  // namespace weft
