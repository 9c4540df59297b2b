#include "weft/fiber/io/io_table.h"

#include <bit>
#include <cerrno>
#include <limits>
#include <new>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/io.h"
#include "weft/fiber/schedule/quick_wait.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/fiber_block.h"

namespace weft {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kFetchedLines = 8;

constexpr std::uint8_t kEnds = kHangUp | kFailed;
constexpr std::uint8_t kBanked = kReadable | kWritable | kEnds;
constexpr std::uint32_t kGenerationMax = std::numeric_limits<std::uint32_t>::max() >> 1;

// The tables of all runtimes. A plain thread of a simulated machine, which has no worker, finds one
// to wait with here.
struct Tables {
    SpinLock lock;
    IoTable* first = nullptr;
};
constinit Tables tables;  // tidy: allow global: the runtimes of the process

}  // namespace

// With the lock held.
inline void IoRegistration::Bank::add() {
    // Relaxed: written under the lock alone.
    std::uint32_t next = came.load(std::memory_order_relaxed) + 1;
    // The count has wrapped around to the number last used: skip it, or the event would be lost.
    // Relaxed: if `used` changes just now, skipping a number does no harm.
    if (next == used.load(std::memory_order_relaxed)) [[unlikely]]
        ++next;
    // Release: pairs with the acquire in look() and is_ready().
    came.store(next, std::memory_order_release);
}

// For a slot that nobody uses yet.
inline void IoRegistration::Bank::set(bool is_ready) {
    // Relaxed: the registration is published later.
    used.store(came.load(std::memory_order_relaxed) - (is_ready ? 1 : 0),
               std::memory_order_relaxed);
}

// With the lock held.
inline void IoRegistration::bank(std::uint8_t events) {
    WEFT_DASSERT(lock_.is_locked());
    // Relaxed: before the counts, and under the lock.
    if (events & kEnds) [[unlikely]]
        ends_.store(ends_.load(std::memory_order_relaxed) | (events & kEnds),
                    std::memory_order_relaxed);
    if (events & kReadable) banks_[bank_of(kReadable)].add();
    if (events & kWritable) banks_[bank_of(kWritable)].add();
}

inline bool IoRegistration::has_come(std::uint8_t events) const {
    WEFT_DASSERT(lock_.is_locked());
    if ((events & kReadable) && is_ready(kReadable)) return true;
    if ((events & kWritable) && is_ready(kWritable)) return true;
    // Relaxed: under the lock.
    return ends_.load(std::memory_order_relaxed) & events & kEnds;
}

Result<void> IoRegistration::look_again(std::uint8_t events) {
    SpinGuard guard(lock_);
    if (retired_) return ErrorKind::Closed;
    // Under the lock no event is delivered; the present state will be reported anew.
    clear(look(events), events);
    if (!home_) return ensure_added();
    // With a new ticket, so that an event under way for the old one is not taken for the answer.
    Ticket old = ticket();
    ++generation_;
    home_->remove(fd_, old);
    return home_->add(fd_, ticket());
}

// With the lock held.
Ticket IoRegistration::ticket() const {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(generation_ != 0 && generation_ <= kGenerationMax, "a reactor has 31 bits for it");
    return Ticket{index_, generation_};
}

// With the lock held.
Result<void> IoRegistration::ensure_added() {
    if (home_) return {};
    Reactor* reactor = IoTable::reactor_of(*storage_);
    if (!reactor) return ErrorKind::NoRuntime;
    return add_home(*reactor);
}

Result<void> IoRegistration::add_to(Reactor& reactor) {
    SpinGuard guard(lock_);
    if (retired_) return ErrorKind::Closed;
    return home_ ? Result<void>() : add_home(reactor);
}

// With the lock held.
Result<void> IoRegistration::add_home(Reactor& reactor) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(!home_ && !retired_, "a registration is with one reactor, until it is retired");
    Result<void> added = reactor.add(fd_, ticket());
    if (!added && added.error().native_code() == EPERM) {
        // A regular file or the like: it never blocks.
        bank(kReadable | kWritable);
        return {};
    }
    if (added) home_ = &reactor;
    return added;
}

// The fast path: a wait without a deadline, while no other fiber waits for the same direction.
Result<void> IoRegistration::wait(std::uint8_t direction, Deadline deadline, CancelState* token) {
    if (!deadline.is_never() || token) return wait_at_length(direction, deadline, token);
    WaitCell* cell = QuickWait::cell();
    if (!cell) return wait_at_length(direction, deadline, token);
    bool reads = direction == kReadable;
    WaitRef& first = reads ? reader_ : writer_;
    lock_.lock();
    bool waits = home_ && !first.cell() && !retired_ && !is_detached() && !is_ready(direction);
    if (!waits) [[unlikely]] {
        lock_.unlock();
        return wait_at_length(direction, deadline, token);
    }
    QuickWait waiter(*cell, reads ? WaitReason::Readable : WaitReason::Writable, this);
    first = waiter.ref();
    lock_.unlock();
    if (waiter.wait() == Wake::Ready) [[likely]]
        return {};
    Entry none;
    forget(waiter.ref(), direction, none);
    return cell->token->error();
}

Result<void> IoRegistration::wait_at_length(std::uint8_t direction, Deadline deadline,
                                            CancelState* token) {
    lock_.lock();
    if (retired_) {
        lock_.unlock();
        return ErrorKind::Closed;
    }
    Result<void> added;
    if (!is_detached()) added = ensure_added();
    if (!added || is_detached() || is_ready(direction)) {
        lock_.unlock();
        return added;
    }
    bool reads = direction == kReadable;
    Waiter waiter(reads ? WaitReason::Readable : WaitReason::Writable, this);
    WaitRef& first = reads ? reader_ : writer_;
    Entry entry;
    if (!first.cell()) {
        first = waiter.ref();
    } else {
        entry.waiter = waiter.ref();
        entry.direction = direction;
        others_.push_back(entry);
        ++others_count_;
    }
    lock_.unlock();
    Wake wake = waiter.wait(deadline, token);
    if (wake != Wake::Ready) forget(waiter.ref(), direction, entry);
    return waiter.to_result(wake);
}

// Removes a waiter whose wait was cancelled or timed out, if a failed claim has not done so.
void IoRegistration::forget(const WaitRef& waiter, std::uint8_t direction, Entry& entry) {
    SpinGuard guard(lock_);
    if (entry.link.is_linked()) {
        WEFT_ASSERT(others_count_ > 0, "the count is that of the list");
        others_.erase(entry);
        --others_count_;
    }
    WaitRef& first = direction == kReadable ? reader_ : writer_;
    if (first.cell() == waiter.cell() && first.word() == waiter.word()) first = WaitRef();
}

Result<bool> IoRegistration::arm(Dormant& dormant, std::uint8_t events) {
    SpinGuard guard(lock_);
    if (retired_) return ErrorKind::Closed;
    if (dormant_) return Error(ErrorKind::Misuse, "a descriptor has one dormant at a time");
    WEFT_TRY(ensure_added());
    if (has_come(events)) return false;
    dormant_ = &dormant;
    dormant_events_ = events;
    return true;
}

bool IoRegistration::disarm(Dormant& dormant) {
    SpinGuard guard(lock_);
    if (dormant_ != &dormant) return false;
    dormant_ = nullptr;
    return true;
}

// With the lock held.
[[gnu::always_inline]] inline void IoRegistration::claim(std::uint8_t directions,
                                                         Claimed& claimed) {
    WEFT_DASSERT(lock_.is_locked());
    if ((directions & kReadable) && reader_.cell())
        claim_one(std::exchange(reader_, WaitRef()), claimed);
    if ((directions & kWritable) && writer_.cell())
        claim_one(std::exchange(writer_, WaitRef()), claimed);
    if (others_count_ != 0) [[unlikely]]
        claim_others(directions, claimed);
}

void IoRegistration::claim_others(std::uint8_t directions, Claimed& claimed) {
    for (Entry* entry = others_.front(); entry;) {
        Entry* following = others_.next(*entry);
        if (entry->direction & directions) {
            WEFT_ASSERT(others_count_ > 0, "the count is that of the list");
            others_.erase(*entry);
            --others_count_;
            claim_one(entry->waiter, claimed);
        }
        entry = following;
    }
}

// A waiter whose wait has ended otherwise is dropped.
[[gnu::always_inline]] inline void IoRegistration::claim_one(const WaitRef& waiter,
                                                             Claimed& claimed) {
    if (!waiter.try_claim(Wake::Ready)) return;
    waiter.cell()->next = nullptr;
    *claimed.last = waiter.cell();
    claimed.last = &waiter.cell()->next;
}

namespace {

// With thousands of fibers the stack of a fiber is in neither the cache nor the TLB when it is
// resumed. Prefetching takes the misses of all fibers that one poll wakes at the same time.
void fetch_stack(const WaitCell& cell) {
    if (cell.is_thread) return;
    auto& fiber = static_cast<const Fiber&>(cell);
    if (!fiber.busy.is_over()) return;
    auto* frames = static_cast<const std::byte*>(fiber.context.saved_stack_pointer());
#pragma GCC unroll 8
    for (std::size_t line = 0; line < kFetchedLines; ++line)
        __builtin_prefetch(frames + line * kLineBytes, 1);
}

}  // namespace

inline void IoRegistration::resume(const Claimed& claimed) {
    for (WaitCell* cell = claimed.first; cell;) {
        WaitCell* following = cell->next;
        fetch_stack(*cell);
        WaitRef(*cell, 0).resume();
        cell = following;
    }
}

// Registers anew after the reactor has dropped the registration. Not after a failure, which could
// repeat for ever: then all waiters wake, and the next wait registers. With the lock held.
void IoRegistration::add_again(std::uint8_t events) {
    WEFT_DASSERT(lock_.is_locked());
    bool again = home_ && !(events & kFailed) && home_->add(fd_, ticket());
    if (!again) home_ = nullptr;
}

inline void IoRegistration::deliver(const IoEvent& event) {
    Claimed claimed;
    Dormant* dormant = nullptr;
    {
        SpinGuard guard(lock_);
        WEFT_DASSERT(event.registration.index == index_, "an event goes to the slot of its ticket");
        // The descriptor may have been closed, and the slot reused, while the event was under way.
        bool is_stale = generation_ != event.registration.generation;
        if (is_stale && !WEFT_PLANTED("io.stale_event")) return;
        if (retired_) return;
        bank(event.events);
        if (event.events & kEnded) [[unlikely]]
            add_again(event.events);
        claim(event.events, claimed);
        if (dormant_ && (dormant_events_ & event.events))
            dormant = std::exchange(dormant_, nullptr);
    }
    resume(claimed);
    if (dormant) dormant->on_ready(*dormant, event.events & kBanked);
}

void IoRegistration::retire() {
    Claimed claimed;
    Dormant* dormant = nullptr;
    {
        SpinGuard guard(lock_);
        if (retired_) return;
        retired_ = true;
        Ticket old = ticket();
        // So that an event that is under way is dropped.
        if (!WEFT_PLANTED("io.stale_event")) ++generation_;
        if (!WEFT_PLANTED("io.close_wakes_nobody")) claim(kReadable, claimed);
        claim(kWritable, claimed);
        dormant = std::exchange(dormant_, nullptr);
        if (home_) home_->remove(fd_, old);
        home_ = nullptr;
    }
    resume(claimed);
    if (dormant) dormant->on_ready(*dormant, kClosed);
}

// The runtime ends, and its reactors with it.
void IoRegistration::detach() {
    Claimed claimed;
    Dormant* dormant = nullptr;
    {
        SpinGuard guard(lock_);
        detached_.store(true, std::memory_order_release);
        home_ = nullptr;
        claim(kReadable | kWritable, claimed);
        dormant = std::exchange(dormant_, nullptr);
    }
    resume(claimed);
    if (dormant) dormant->on_ready(*dormant, kClosed);
}

IoStorage* IoStorage::create() { return new IoStorage; }  // tidy: allow new: counted by itself

IoStorage::~IoStorage() {
    for (auto& chunk : chunks_) {
        // Relaxed: the last reference is gone, nobody else reads it.
        delete[] chunk.load(std::memory_order_relaxed);  // tidy: allow delete: see fresh()
    }
}

void IoStorage::add_ref() {
    // Relaxed: a new reference is made from an existing one.
    std::uint32_t before = references_.fetch_add(1, std::memory_order_relaxed);
    WEFT_ASSERT(before != 0, "a new reference is made from an existing one");
}

void IoStorage::release() {
    // Acquire-release: the last one sees what all others did to the slots.
    std::uint32_t before = references_.fetch_sub(1, std::memory_order_acq_rel);
    WEFT_ASSERT(before != 0, "the slots were released more often than they were referred to");
    if (before == 1) delete this;  // tidy: allow delete: counted by itself
}

inline auto IoStorage::place_of(std::uint32_t index) -> Place {
    std::uint32_t shifted = index + kFirstChunk;
    unsigned chunk = static_cast<unsigned>(std::bit_width(shifted / kFirstChunk)) - 1;
    WEFT_DASSERT(chunk < kChunks, "the chunks hold kDescriptorsMax slots");
    return Place{chunk, shifted - (kFirstChunk << chunk)};
}

// The address follows from the ticket alone.
inline IoRegistration* IoStorage::fetch(Ticket ticket) const {
    if (ticket.is_none() || ticket.index >= kDescriptorsMax - kFirstChunk) return nullptr;
    Place place = place_of(ticket.index);
    // Acquire: the chunk is constructed; pairs with the release in fresh().
    IoRegistration* chunk = chunks_[place.chunk].load(std::memory_order_acquire);
    if (!chunk) return nullptr;
    __builtin_prefetch(&chunk[place.offset], 1);
    return &chunk[place.offset];
}

// With the lock held. A slot that was never used; null when memory or indices are out.
IoRegistration* IoStorage::fresh() {
    WEFT_DASSERT(lock_.is_locked());
    if (used_ >= kDescriptorsMax - kFirstChunk) return nullptr;
    Place place = place_of(used_);
    // Relaxed: only written under the lock.
    IoRegistration* chunk = chunks_[place.chunk].load(std::memory_order_relaxed);
    if (!chunk) {
        if (env::fails(Allocation::Block)) return nullptr;
        chunk = new (std::nothrow)  // tidy: allow new: an array published to lock-free readers
            IoRegistration[kFirstChunk << place.chunk];
        if (!chunk) return nullptr;
        // Release: pairs with the acquire in fetch().
        chunks_[place.chunk].store(chunk, std::memory_order_release);
    }
    IoRegistration& slot = chunk[place.offset];
    slot.index_ = used_++;
    slot.storage_ = this;
    return &slot;
}

Result<IoRegistration*> IoStorage::take(int fd, std::uint8_t readiness) {
    IoRegistration* slot = nullptr;
    bool detached = false;
    {
        SpinGuard guard(lock_);
        slot = free_;
        if (slot) {
            free_ = slot->next_free_;
        } else {
            slot = fresh();
        }
        detached = detached_;
    }
    if (!slot) return ErrorKind::OutOfMemory;
    add_ref();
    // Under the slot's lock: a late event for its former owner may be reading it.
    SpinGuard guard(slot->lock_);
    WEFT_DASSERT(!slot->reader_.cell() && !slot->writer_.cell() && slot->others_count_ == 0 &&
                     !slot->dormant_ && !slot->home_,
                 "a registration that is used again is clean");
    slot->fd_ = fd;
    slot->retired_ = false;
    slot->detached_.store(detached, std::memory_order_relaxed);
    slot->previous_ = nullptr;
    slot->banks_[IoRegistration::bank_of(kReadable)].set(readiness & kReadable);
    slot->banks_[IoRegistration::bank_of(kWritable)].set(readiness & kWritable);
    slot->ends_.store(0, std::memory_order_relaxed);
    return slot;
}

void IoStorage::put(IoRegistration& registration) {
    WEFT_DASSERT(registration.retired_);
    {
        SpinGuard guard(lock_);
        // Nobody else changes the generation of a retired slot. When its generations are used up,
        // the slot is never used again, so that no ticket is valid twice.
        if (registration.generation_ < kGenerationMax) {
            registration.next_free_ = free_;
            free_ = &registration;
        }
    }
    release();
}

bool IoStorage::has_dormant() {
    std::uint32_t used = 0;
    {
        SpinGuard guard(lock_);
        used = used_;
    }
    for (std::uint32_t index = 0; index < used; ++index) {
        Place place = place_of(index);
        // Relaxed: as in detach().
        IoRegistration& slot = chunks_[place.chunk].load(std::memory_order_relaxed)[place.offset];
        SpinGuard guard(slot.lock_);
        if (slot.dormant_) return true;
    }
    return false;
}

void IoStorage::detach() {
    std::uint32_t used = 0;
    {
        SpinGuard guard(lock_);
        detached_ = true;
        used = used_;
    }
    for (std::uint32_t index = 0; index < used; ++index) {
        Place place = place_of(index);
        // Relaxed: the index was read under the lock, so the chunk is visible.
        chunks_[place.chunk].load(std::memory_order_relaxed)[place.offset].detach();
    }
}

IoTable::IoTable(Scheduler& scheduler)
    : scheduler_(scheduler), storage_(IoStorage::create()), machine_(env::current()) {
    env::Unseen unseen;
    SpinGuard guard(tables.lock);
    IoTable** last = &tables.first;
    while (*last) last = &(*last)->next_;
    *last = this;
}

IoTable::~IoTable() {
    {
        env::Unseen unseen;
        SpinGuard guard(tables.lock);
        IoTable** place = &tables.first;
        while (*place != this) place = &(*place)->next_;
        *place = next_;
    }
    storage_->detach();
    storage_->release();
}

// The next simulated machine may be allocated at the same address.
void io_tables::forget(const Env& machine) {
    SpinGuard guard(tables.lock);
    for (IoTable** place = &tables.first; *place;) {
        if ((*place)->machine_ == &machine) {
            *place = (*place)->next_;
        } else {
            place = &(*place)->next_;
        }
    }
}

// With many descriptors every registration is a cache miss; they are prefetched.
void IoTable::dispatch(std::span<const IoEvent> events) {
    constexpr std::size_t ahead = 8;
    std::array<IoRegistration*, ahead> next;
    for (std::size_t i = 0; i < events.size() && i < ahead; ++i)
        next[i] = storage_->fetch(events[i].registration);
    for (std::size_t i = 0; i < events.size(); ++i) {
        IoRegistration* registration = next[i % ahead];
        if (i + ahead < events.size())
            next[i % ahead] = storage_->fetch(events[i + ahead].registration);
        if (registration) registration->deliver(events[i]);
    }
}

Result<IoRegistration*> IoTable::register_here(int fd, std::uint8_t readiness) {
    if (Worker* worker = this_worker())
        return worker->scheduler().io().storage_->take(fd, readiness);
    if (!env::current()) return ErrorKind::NoRuntime;
    IoStorage* storage = nullptr;
    {
        env::Unseen unseen;
        SpinGuard guard(tables.lock);
        IoTable* table = tables.first;
        while (table && table->machine_ != env::current()) table = table->next_;
        if (!table) return ErrorKind::NoRuntime;
        storage = table->storage_;
        storage->add_ref();
    }
    Result<IoRegistration*> taken = storage->take(fd, readiness);
    storage->release();
    return taken;
}

// With the lock of a registration of that storage held, which is not detached: so the reactor lives
// until the lock is released, because ~IoTable detaches every registration first.
Reactor* IoTable::reactor_of(const IoStorage& storage) {
    Worker* worker = this_worker();
    if (worker && worker->scheduler().io().storage_ == &storage) return &worker->reactor();
    // A thread of the simulation, or a fiber of another runtime.
    env::Unseen unseen;
    SpinGuard guard(tables.lock);
    IoTable* table = tables.first;
    while (table && table->storage_ != &storage) table = table->next_;
    return table ? &table->scheduler_.worker(0).reactor() : nullptr;
}

}  // namespace weft
