// IoTable: the descriptors that the fibers of a runtime wait on.
//
// A descriptor is registered at its first wait, with the reactor of the worker that waits, and
// stays there until it is closed. Readiness is banked: events are counted, and an operation that
// would block notes how many had come before its call. So an edge is never lost, and an operation
// waits without a system call if nothing has come since.
//
// A registration is named by a ticket. Closing increases the generation first, so an event that is
// under way is dropped, although the descriptor's number and the slot may have a new owner by then.
//
// The slots belong to a reference-counted storage, because a descriptor may outlive the runtime
// with which it was registered: its registration is then detached, and the next wait makes a new
// one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/metrics.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/ticket.h"
#include "weft/base/time.h"
#include "weft/fiber/io/reactor.h"
#include "weft/fiber/switch/thread_state.h"
#include "weft/fiber/waiter.h"

namespace weft {

class CancelState;
class IoStorage;
class Scheduler;
struct Dormant;

// Any fiber and, in simulation, any thread, unless said otherwise. Made and freed by IoStorage.
class alignas(64) IoRegistration {
public:
    IoRegistration() = default;
    IoRegistration(const IoRegistration&) = delete;
    IoRegistration& operator=(const IoRegistration&) = delete;

    // How many events have come for a direction (kReadable or kWritable) until now.
    struct Seen {
        std::uint32_t count;
        bool ended;  // hung up or failed
    };
    Seen look(std::uint8_t direction) const {
        // Acquire: an operation after it sees what the thread saw that delivered the event.
        std::uint32_t count = banks_[bank_of(direction)].came.load(std::memory_order_acquire);
        // Relaxed: stored before the count.
        return {count, ends_.load(std::memory_order_relaxed) != 0};
    }
    // Whether an event has come since an operation last found the direction not ready.
    bool is_ready(std::uint8_t direction) const {
        const Bank& bank = banks_[bank_of(direction)];
        // Relaxed: an old value costs one operation that blocks. For the acquire see look().
        return bank.came.load(std::memory_order_acquire) !=
               bank.used.load(std::memory_order_relaxed);
    }
    // An operation has found the direction not ready; `seen` was read before the operation.
    void clear(Seen seen, std::uint8_t direction) {
        Bank& bank = banks_[bank_of(direction)];
        // Relaxed: the number guards no other memory; a later event makes the two counts differ.
        if (WEFT_PLANTED("io.clear_always")) seen.count = bank.came.load(std::memory_order_relaxed);
        bank.used.store(seen.count, std::memory_order_relaxed);
    }
    // Makes the reactor report the present state again, for a caller that cannot rely on the banks.
    Result<void> look_again(std::uint8_t events);

    // Waits for an event of `direction` (kReadable or kWritable). Closed after retire(). Succeeds
    // also when the runtime ends; is_detached() tells that.
    Result<void> wait(std::uint8_t direction, Deadline deadline, CancelState* token);

    // Calls dormant.on_ready once, at the first of `events`. False: one of them has come already,
    // and nothing was armed.
    Result<bool> arm(Dormant& dormant, std::uint8_t events);
    // Registers it with this reactor. Does nothing if it is registered with one already.
    Result<void> add_to(Reactor& reactor);
    // True: it was armed and will not be called.
    bool disarm(Dormant& dormant);

    // The descriptor is about to be closed: wakes all waiters and removes it from the reactor.
    void retire();
    bool is_detached() const { return detached_.load(std::memory_order_acquire); }
    IoStorage& storage() const { return *storage_; }

    // Older registrations of the same descriptor, with runtimes that have ended.
    IoRegistration* previous() const { return previous_; }
    void set_previous(IoRegistration* previous) { previous_ = previous; }

private:
    friend class IoStorage;
    friend class IoTable;

    // A further waiter for the same direction; in the frame of its wait.
    struct Entry {
        WaitRef waiter;
        std::uint8_t direction = 0;
        ListLink link;
    };
    // The waits that the holder of this list has claimed and has to resume, linked by the cells'
    // `next`, which between claim and resume belongs to the claimer.
    struct Claimed {
        WaitCell* first = nullptr;
        WaitCell** last = &first;
    };

    // The events of a direction: how many have come, and how many had come when an operation last
    // would have blocked. Two threads that store the latter at once may leave the older value: this
    // costs one more operation that blocks.
    struct Bank {
        // SchedulerAtomic: they order only the runtime's own memory, so a sanitizer of the program
        // need not know of them.
        SchedulerAtomic<std::uint32_t> came{0};  // written under lock_
        SchedulerAtomic<std::uint32_t> used{0};
        void add();
        void set(bool is_ready);
    };
    static constexpr unsigned bank_of(std::uint8_t direction) {
        static_assert(kReadable == 1 && kWritable == 2);
        return direction >> 1;
    }

    bool has_come(std::uint8_t events) const;
    void bank(std::uint8_t events);
    void deliver(const IoEvent& event);
    void detach();
    Ticket ticket() const;
    Result<void> ensure_added();
    Result<void> add_home(Reactor& reactor);
    Result<void> wait_at_length(std::uint8_t direction, Deadline deadline, CancelState* token);
    void add_again(std::uint8_t events);
    void claim(std::uint8_t directions, Claimed& claimed);
    void claim_others(std::uint8_t directions, Claimed& claimed);
    static void claim_one(const WaitRef& waiter, Claimed& claimed);
    static void resume(const Claimed& claimed);
    void forget(const WaitRef& waiter, std::uint8_t direction, Entry& entry);

    // An event and a read touch only the first cache line. lock_ guards all but the atomics.
    std::uint32_t generation_ = 1;  // grows when the slot is retired
    SpinLock lock_;
    SchedulerAtomic<bool> detached_{false};
    bool retired_ = false;
    std::uint8_t dormant_events_ = 0;
    std::array<Bank, 2> banks_;              // see bank_of()
    SchedulerAtomic<std::uint8_t> ends_{0};  // kHangUp, kFailed; written under lock_
    std::uint32_t others_count_ = 0;
    Reactor* home_ = nullptr;  // null until the first wait
    WaitRef reader_;           // the first waiter; the others are in others_
    Dormant* dormant_ = nullptr;
    WaitRef writer_;
    std::uint32_t index_ = 0;
    int fd_ = -1;
    IntrusiveList<Entry, &Entry::link> others_;
    IoStorage* storage_ = nullptr;
    IoRegistration* next_free_ = nullptr;
    IoRegistration* previous_ = nullptr;
};

// The slots. The table and every registration in use hold a reference. Any thread.
class IoStorage {
public:
    static constexpr std::uint32_t kDescriptorsMax = 1U << 21;

    static IoStorage* create();
    IoStorage(const IoStorage&) = delete;
    IoStorage& operator=(const IoStorage&) = delete;

    // A new registration, whose banked readiness starts with `readiness`. The caller owns it until
    // put().
    Result<IoRegistration*> take(int fd, std::uint8_t readiness);
    void put(IoRegistration& registration);  // after retire()

    bool has_dormant();  // whether a Dormant is armed for any descriptor
    // The slot of a ticket, which may have a new owner by now; null if there never was one. Its
    // memory is prefetched.
    IoRegistration* fetch(Ticket ticket) const;
    void detach();
    void add_ref();
    void release();

private:
    // Chunk k holds kFirstChunk << k slots, so that few pointers serve many of them.
    static constexpr std::uint32_t kFirstChunk = 64;
    static constexpr unsigned kChunks = 15;

    IoStorage() = default;
    ~IoStorage();

    struct Place {
        unsigned chunk;
        std::uint32_t offset;
    };
    static Place place_of(std::uint32_t index);
    IoRegistration* fresh();

    Atomic<std::uint32_t> references_{1};
    std::array<SchedulerAtomic<IoRegistration*>, kChunks> chunks_{};
    SpinLock lock_;  // guards all that follows
    IoRegistration* free_ = nullptr;
    std::uint32_t used_ = 0;
    bool detached_ = false;
};

class IoTable {
public:
    explicit IoTable(Scheduler& scheduler);
    ~IoTable();
    IoTable(const IoTable&) = delete;
    IoTable& operator=(const IoTable&) = delete;

    bool has_dormant() const { return storage_->has_dormant(); }

    // Delivers events of a reactor. In the scheduler of any worker of the runtime.
    void dispatch(std::span<const IoEvent> events);

    // A registration with the caller's runtime. Any fiber, and in simulation any thread of a
    // machine that has a runtime.
    static Result<IoRegistration*> register_here(int fd, std::uint8_t readiness);

private:
    friend class IoRegistration;
    friend void io_tables::forget(const Env& machine);

    static Reactor* reactor_of(const IoStorage& storage);

    Scheduler& scheduler_;
    IoStorage* storage_;
    Env* machine_;
    IoTable* next_ = nullptr;  // of all tables
};

}  // namespace weft
