// Fiber: the control block of a fiber. It is small, and comes from a slab of the process that is
// never unmapped, so that stale references stay readable. A fiber gets its stack when it first runs
// and loses it when it ends.
//
// Unless said otherwise, a member is written only by the worker that runs or prepares the fiber.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/switch/context.h"
#include "weft/fiber/switch/stack.h"
#include "weft/fiber/switch/stack_use.h"
#include "weft/fiber/switch/thread_state.h"
#include "weft/fiber/wait/join_word.h"
#include "weft/fiber/wait/park_word.h"
#include "weft/fiber/waiter.h"

namespace weft {

class Scheduler;
class Worker;

struct Fiber : WaitCell {
    enum class Operation : std::uint8_t { Run, Fail, Discard };
    // Run calls the closure and stores the outcome in its place. Fail stores `error` instead of
    // running it. Discard logs an error that nobody will take, and destroys the outcome.
    using Body = void (*)(Fiber& fiber, Operation operation, const Error* error);

    static constexpr std::uintptr_t kLabelled = 1;  // of extra

    enum Flag : std::uint8_t {
        kCounted = 1,    // Runtime::run() waits for it
        kKeepFloat = 2,  // floating-point control state is switched along
        kEnding = 4,     // leaves its stack for good
        kForgotten = 8,  // nobody will ask for the outcome
        // Was given a token with a deadline, for which its runtime may have no timer yet.
        kArmsDeadline = 16,
        kInTurn = 32,   // see Start
        kInScope = 64,  // its token is a SpawnState, which a scope waits for
    };

    StackUse busy;
    SchedulerAtomic<bool> held{false};  // the dump reads the stack, so no worker may resume it
    SpinLock park_lock;                 // guards parking, the locals, and generation if exposed
    Atomic<bool> exposed{false};        // a FiberId was made
    std::uint8_t flags = 0;
    std::uint16_t size_class = 0;
    std::uint32_t generation = 0;  // grows when the block is given back
    std::uint32_t float_control = 0;
    std::uint32_t parked_at_ms = 0;  // by the worker's coarse clock

    SavedContext context;
    Stack* stack = nullptr;
    Atomic<Scheduler*> scheduler{nullptr};  // null while the block is free
    Worker* pinned = nullptr;
    JoinWord join;
    Body body = nullptr;
    Atomic<std::uintptr_t> extra{kLabelled};  // its label or its locals: see locals.h
    ExceptionState exceptions;
    ParkWord parking;
    static constexpr std::size_t kStorageBytes = 40;
    std::byte storage[kStorageBytes];
};

static_assert(sizeof(Fiber) <= 192, "a million parked fibers are the measure");

// The slab. Blocks of all runtimes; process-wide for the reason above.
namespace fiber_blocks {

// The free blocks of one worker, taken and given without touching the shared list. Owning worker
// only.
class Cache {
public:
    Cache() = default;
    ~Cache();
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    Fiber* take() {  // null when memory is short
        if (Fiber* fiber = free_) [[likely]] {
            WEFT_DASSERT(count_ > 0, "the count is that of the free list");
            free_ = static_cast<Fiber*>(fiber->next);
            --count_;
            return fiber;
        }
        return refill();
    }
    // Gives all blocks to the shared list, from where their memory can go back to the kernel.
    void shrink();
    void put(Fiber* fiber) {
        WEFT_DASSERT(!fiber->token && !fiber->stack && count_ < kCountMax, "a free block is clean");
        fiber->next = free_;
        free_ = fiber;
        if (++count_ == kCountMax) [[unlikely]]
            spill();
    }

private:
    static constexpr unsigned kCountMax = 512;
    static constexpr unsigned kBatch = 128;

    Fiber* refill();
    void spill();

    Fiber* free_ = nullptr;
    unsigned count_ = 0;
    std::byte* fresh_ = nullptr;  // up to fresh_end_: constructed blocks that were never used
    std::byte* fresh_end_ = nullptr;
};

// Any thread.
Fiber* take();
void put(Fiber* fiber);

// Gives the memory of blocks that nobody has needed since the last call back to the kernel, where
// all blocks of a chunk are free; returns how many blocks. A stale reference to a wait of such a
// block stays harmless: the epochs of a block that is made anew go on where those of the chunk
// ended. Chunks with a block for which a FiberId was made stay. Monitors call it now and then; does
// nothing under a sanitizer and in simulation.
std::size_t trim_spare();
bool has_spare();  // whether a call may find something

// Visits every block that was ever handed out, in use or not. `visit` may read it and claim waits.
void for_each(void (*visit)(Fiber& fiber, void* argument), void* argument);

}  // namespace fiber_blocks
}  // namespace weft
