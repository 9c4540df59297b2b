// The one way to wait.
//
// Every fiber, and every plain thread that ever waits, owns one WaitCell with one state word. A
// wait is an epoch of that word: Waiting, then exactly one of Ready, TimedOut, Cancelled. The waker
// that moves the word out of Waiting (WaitRef::try_claim, one compare-and-swap) owns the wake-up
// and calls WaitRef::resume() once; all other wakers lose and drop their references. Cells are
// never unmapped and epochs never repeat, so a stale reference is harmless.
//
//     SpinGuard guard(lock_);
//     if (ready()) return take();
//     Waiter waiter(WaitReason::Channel, this);
//     queue_.push_back(entry_with(waiter.ref()));
//     unlock; Wake wake = waiter.wait(deadline);       // parks the fiber or blocks the thread
//     if (wake != Wake::Ready) lock and remove the entry
//
// The waker may come before the waiter has parked, on any thread: the scheduler takes care of that.
// A claimed waiter does not return until resume(), so the claimer may write into its stack frame
// between the claim and resume(); resume() is the waker's last access to the waiter.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/assert.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/wait/wait_word.h"

namespace weft {

class CancelState;

// What a fiber waits on; shown by the dump.
enum class WaitReason : std::uint8_t {
    None,
    Park,
    Sleep,
    Join,
    Channel,
    Select,
    Mutex,
    SharedMutex,
    Condition,
    Semaphore,
    WaitGroup,
    Once,
    Barrier,
    Event,
    Gate,
    Readable,
    Writable,
    File,
    Blocking,
    Process,
    Signal,
    Job,
    Operation,  // that another thread completes
    Other,
};
const char* to_string(WaitReason reason);

enum class Cancellable : bool { No, Yes };

struct WaitCell {
    WaitWord word;
    WaitCell* next = nullptr;      // in a run queue or a chain of claimed cells
    CancelState* token = nullptr;  // the ambient token; null on a thread without one
    ListLink token_link;           // in the token's list, if listed; under the token's lock
    const void* wait_object = nullptr;
    WaitReason wait_reason = WaitReason::None;
    bool is_thread = false;
    // False for the many fibers that carry just their runtime's root token: the runtime finds those
    // in the slab, and spawning them costs no lock.
    bool listed = false;
    // The token is lent, and lists the cell at the cell's first wait: see SpawnOptions::token_use.
    bool lists_late = false;

    // By the owner of the cell: returns the number of the wait that begins.
    [[gnu::always_inline]] std::uint64_t begin_wait(WaitReason reason, const void* object,
                                                    Cancellable cancellable) {
        WaitWord::State state = WaitWord::WaitingShielded;
        if (token && cancellable == Cancellable::Yes)
            state = listed ? WaitWord::Waiting : WaitWord::WaitingRoot;
        wait_object = object;
        wait_reason = reason;
        return word.begin(state);
    }
};

// A reference to one wait of one cell; a small value. Any thread.
class WaitRef {
public:
    WaitRef() = default;
    WaitRef(WaitCell& cell, std::uint64_t word) : cell_(&cell), word_(word) {}

    // True for exactly one caller over all references to this wait; that caller calls resume().
    [[nodiscard]] bool try_claim(Wake outcome) const;
    // Puts the fiber into a run queue or wakes the thread. Once, after a successful try_claim().
    void resume() const;
    WaitCell* cell() const { return cell_; }
    std::uint64_t word() const { return word_; }

private:
    WaitCell* cell_ = nullptr;
    std::uint64_t word_ = 0;
};

// Lives in the frame of the waiting function. Any fiber or plain thread, never in the scheduler.
class Waiter {
public:
    explicit Waiter(WaitReason reason, const void* object = nullptr,
                    Cancellable cancellable = Cancellable::Yes);
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter() { WEFT_DASSERT(ended_, "a wait was begun and never ended"); }

    WaitRef ref() const { return WaitRef(cell_, word_); }
    WaitCell& cell() const { return cell_; }

    // Parks until claimed; honours the ambient token (if Cancellable::Yes) and the deadline.
    Wake wait(Deadline deadline = Deadline::never());
    // Also honours `token`.
    Wake wait(Deadline deadline, CancelState* token);
    // Ends the epoch without waiting. Only while no reference has been published, or when all of
    // them were removed under the locks that protect them.
    void abandon();

    // A Result that tells how the wait ended: success, TimedOut, or why the token was cancelled.
    Result<void> to_result(Wake wake) const;

private:
    Wake park_until(Deadline deadline);
    Wake park_thread(Deadline deadline);

    WaitCell& cell_;
    std::uint64_t word_;
    CancelState* explicit_token_ = nullptr;
    bool ended_ = false;
};

// The cell of the fiber or thread that runs.
WaitCell& current_cell();

// A cheap identification of the running fiber or thread: the page of its stack that it is on. The
// lower kStackMarkShift bits are 0. A lock stores it in the word that it writes anyway, to tell who
// took it.
inline constexpr unsigned kStackMarkShift = 12;
[[gnu::always_inline]] inline std::uintptr_t stack_mark() {
    std::uintptr_t place = 0;
#if defined(__x86_64__)
    asm("movq %%rsp, %0" : "=r"(place));
#elif defined(__aarch64__)
    asm("mov %0, sp" : "=r"(place));
#elif defined(__riscv)
    asm("mv %0, sp" : "=r"(place));
#else
    place = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
    return place & ~((std::uintptr_t{1} << kStackMarkShift) - 1);
}
// Whether the mark was taken on the stack of the running fiber or thread. Not for hot paths.
bool is_mark_of_this_stack(std::uintptr_t mark);
// "fiber 'name'", or "this thread".
std::string who_runs();

// False while a worker destroys the function of a fiber for which there was no stack: that happens
// inside the scheduler, where nothing can wait. A destructor that would wait must then leave its
// jobs to an owner further up.
bool can_wait_here();

inline bool WaitRef::try_claim(Wake outcome) const { return cell_->word.try_claim(word_, outcome); }

}  // namespace weft
