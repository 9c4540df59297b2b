#include "weft/data/internal/pool_core.h"

#include <algorithm>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/retry.h"
#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/base/planted.h"
#include "weft/data/failure.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"

namespace weft::data::pool_internal {
namespace {

// An error names at most this many holders of connections.
constexpr std::size_t kHoldersNamedMax = 5;
constexpr std::string_view kOpening = "one that opens it";
constexpr Nanoseconds kSweepPauseMin = std::chrono::milliseconds(20);

PoolOptions bounded(PoolOptions options, const Provider& provider) {
    WEFT_ASSERT(provider.connections_max() >= 1, "a provider allows at least one connection");
    options.connections_max =
        std::clamp<std::size_t>(options.connections_max, 1, provider.connections_max());
    if (provider.is_permanent()) {
        options.idle_timeout = {};
        options.lifetime_max = {};
    }
    return options;
}

std::int64_t milliseconds(Nanoseconds duration) { return duration.count() / 1'000'000; }

// Shortened at random by up to a tenth, so that connections opened together are not closed
// together.
Instant end_of_life(Instant now, Nanoseconds lifetime) {
    if (lifetime <= Nanoseconds::zero()) return Instant::max();
    auto tenth = static_cast<std::uint64_t>(lifetime.count() / 10);
    std::uint64_t sooner = tenth ? env::random(RandomStream::Workload) % tenth : 0;
    return Deadline::after(lifetime - Nanoseconds(sooner), now).instant();
}

}  // namespace

Core::Core(std::unique_ptr<Provider> provider, const PoolOptions& options, std::string name)
    : provider_(std::move(provider)),
      options_(bounded(options, *provider_)),
      name_(std::move(name)) {
    slots_.reserve(options_.connections_max);
}

// Leases keep the core alive, so every remaining slot is idle, and the destructor of Pool has
// closed it.
Core::~Core() {
    WEFT_DASSERT(closed_, "the destructor of Pool closes the core");
    WEFT_DASSERT(slots_.empty(), "every lease was given back to a closed pool");
    WEFT_DASSERT(waiting_ == 0, "nobody waits when the core ends");
}

bool Core::is_closed() const {
    SpinGuard guard(lock_);
    return closed_;
}

Error Core::closed_error() const {
    return to_error(provider_->name(), kClosedState, "the database was closed");
}

std::string Core::holders() const {
    WEFT_DASSERT(lock_.is_locked(), "the lock protects the holders");
    std::string text;
    std::size_t named = 0;
    Instant now = Clock::now();
    for (const Slot& slot : in_use_) {
        if (named++ == kHoldersNamedMax) return text + ", ...";
        text.append(text.empty() ? "held by " : ", ").append(slot.purpose).append(" for ");
        text.append(std::to_string(milliseconds(now - slot.leased_at))).append(" ms");
    }
    return text;
}

Error Core::exhausted(std::string_view state, std::string_view why) const {
    SpinGuard guard(lock_);
    std::string text(why);
    text.append(": ").append(std::to_string(slots_.size())).append(" of ");
    text.append(std::to_string(options_.connections_max)).append(" connections exist, ");
    text.append(std::to_string(waiting_)).append(" wait");
    std::string who = holders();
    if (!who.empty()) text.append("; ").append(who);
    if (open_error_) text.append("; the last attempt to open one: ").append(open_error_->message());
    return to_error(provider_->name(), state, text);
}

Error Core::timed_out() const { return exhausted(kPoolTimeoutState, "no connection in time"); }

Result<Lease> Core::acquire(std::string_view purpose) {
    WEFT_TRY(CancelToken::current().check());
    Deadline deadline = Deadline::after(options_.acquire_timeout);
    Slot* slot = WEFT_TRY(take_slot(deadline));
    if (slot->connection && !is_valid(*slot, deadline)) {
        slot->connection.reset();
        SpinGuard guard(lock_);
        ++stats_.closed_broken;
    }
    if (!slot->connection) {
        Result<void> filled = connect_slot(*slot, deadline);
        if (!filled) {
            if (!WEFT_PLANTED("data_pool.forgets_a_failed_open")) free_slot(slot);
            return filled.error();
        }
    }
    {
        SpinGuard guard(lock_);
        WEFT_DASSERT(slot->link.is_linked(), "a held slot is in in_use_");
        slot->purpose = purpose;
        slot->leased_at = Clock::now();
        slot->leak_logged = false;
        ++stats_.acquired;
    }
    start_sweeper();
    return Lease(shared_from_this(), slot);
}

Slot* Core::take_free_slot() {
    WEFT_DASSERT(lock_.is_locked(), "the lock protects the slots");
    WEFT_DASSERT(!closed_, "a closed pool hands out no slot");
    if (Slot* slot = idle_.pop_front()) {
        WEFT_ASSERT(slot->connection, "an idle slot has a connection");
        in_use_.push_back(*slot);
        return slot;
    }
    if (slots_.size() >= options_.connections_max) return nullptr;
    slots_.push_back(std::make_unique<Slot>());
    Slot* slot = slots_.back().get();
    slot->leased_at = Clock::now();
    slot->purpose = kOpening;
    in_use_.push_back(*slot);
    return slot;
}

Result<Slot*> Core::take_slot(Deadline deadline) {
    lock_.lock();
    if (closed_) {
        lock_.unlock();
        return closed_error();
    }
    WEFT_DASSERT(waiters_.empty() || waiting_ > 0, "a queued waiter is counted");
    // Waiters come first: a newcomer takes a free slot only when nobody waits.
    if (waiters_.empty()) {
        if (Slot* slot = take_free_slot()) {
            lock_.unlock();
            return slot;
        }
    }
    bool fails_fast = options_.when_exhausted == WhenExhausted::Fail;
    if (fails_fast || waiting_ >= options_.waiters_max) {
        ++stats_.refused;
        lock_.unlock();
        return exhausted(kPoolFullState,
                         fails_fast ? "no connection is free" : "too many wait for a connection");
    }
    ++waiting_;
    ++stats_.waited;
    return wait_for_slot(deadline);
}

// Called with the lock held; releases it.
Result<Slot*> Core::wait_for_slot(Deadline deadline) {
    WEFT_DASSERT(lock_.is_locked(), "the caller holds the lock");
    Instant begun = Clock::now();
    Entry entry;
    Waiter waiter(WaitReason::Other, this);
    entry.ref = waiter.ref();
    waiters_.push_back(entry);
    lock_.unlock();
    Wake wake = waiter.wait(deadline);
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(wake != Wake::Ready || !entry.link.is_linked(),
                    "a claimed waiter has left the queue");
        if (entry.link.is_linked()) waiters_.erase(entry);
        WEFT_ASSERT(waiting_ > 0, "this waiter is still counted");
        --waiting_;
        stats_.wait_time += Clock::now() - begun;
        if (wake == Wake::TimedOut) ++stats_.timed_out;
        if (wake == Wake::Cancelled) ++stats_.cancelled;
    }
    if (wake == Wake::TimedOut) return timed_out();
    WEFT_TRY(waiter.to_result(wake));
    WEFT_ASSERT(entry.closed != (entry.slot != nullptr),
                "a claimed waiter gets a slot or is told that the pool is closed");
    if (entry.closed) return closed_error();
    return entry.slot;
}

bool Core::is_valid(Slot& slot, Deadline deadline) {
    if (slot.connection->is_lost()) return false;
    Nanoseconds idled = Clock::now() - slot.idle_since;
    if (options_.validate_after <= Nanoseconds::zero() || idled < options_.validate_after)
        return true;
    CancelScope scope(CancelSource::with_deadline(deadline).token());
    Result<void> valid = slot.connection->validate();
    return valid && slot.connection->state() == ConnectionState::Idle;
}

Result<void> Core::connect_slot(Slot& slot, Deadline deadline) {
    WEFT_TRY(pause_before_open(deadline));
    Result<void> opened = open(slot, deadline);
    if (opened) return {};
    Result<void> ended = CancelToken::current().check();
    if (!ended) return ended.error();
    return opened.error();
}

// Waits until the back-off after the latest failure is over.
Result<void> Core::pause_before_open(Deadline deadline) {
    Deadline until;
    {
        SpinGuard guard(lock_);
        if (closed_) return closed_error();
        WEFT_DASSERT(open_error_.has_value() == (open_failures_in_a_row_ > 0),
                     "the latest error is kept while failures are counted");
        if (open_failures_in_a_row_ == 0) return {};
        until = Deadline::at(open_not_before_);
    }
    if (until.expired(Clock::now())) return {};
    WEFT_TRY(sleep_until(earlier(until, deadline)));
    if (deadline < until) {
        SpinGuard guard(lock_);
        ++stats_.timed_out;
    }
    if (deadline < until) return timed_out();
    return {};
}

Result<void> Core::open(Slot& slot, Deadline deadline) {
    WEFT_ASSERT(!slot.connection, "only an empty slot is connected");
    CancelScope scope(CancelSource::with_deadline(deadline).token());
    Result<std::unique_ptr<Connection>> connection = provider_->connect();
    Instant now = Clock::now();
    if (connection) {
        WEFT_ASSERT(*connection, "connect() returns a connection or an error");
        SpinGuard guard(lock_);
        slot.connection = std::move(*connection);
        slot.lifetime_end = end_of_life(now, options_.lifetime_max);
        open_failures_in_a_row_ = 0;
        open_error_.reset();
        ++stats_.opened;
        return {};
    }
    const Error& error = connection.error();
    // A cancelled attempt says nothing about the server.
    if (error.kind() == ErrorKind::Cancelled) return error;
    async::RetryOptions pauses{.delay_first = options_.backoff_initial,
                               .delay_max = options_.backoff_max};
    SpinGuard guard(lock_);
    ++stats_.open_failures;
    ++open_failures_in_a_row_;
    open_error_ = error;
    Nanoseconds pause = async::retry_delay(pauses, std::min(open_failures_in_a_row_, 30));
    open_not_before_ = Deadline::after(pause, now).instant();
    return error;
}

void Core::give_back(Slot* slot) {
    bool usable = tidy(*slot);
    Instant now = Clock::now();
    if (!usable) return discard(slot, &PoolStats::closed_broken);
    if (slot->lifetime_end <= now) return discard(slot, &PoolStats::closed_old);
    WaitRef claimed;
    {
        SpinGuard guard(lock_);
        WEFT_DASSERT(slot->link.is_linked(), "a leased slot is in in_use_");
        if (!closed_) {
            slot->idle_since = now;
            if (!hand_over(slot, claimed)) {
                in_use_.erase(*slot);
                idle_.push_front(*slot);
            }
            slot = nullptr;
        }
    }
    if (claimed.cell()) claimed.resume();
    if (slot) return discard(slot, &PoolStats::closed_idle);
    start_sweeper();
}

bool Core::hand_over(Slot* slot, WaitRef& claimed) {
    WEFT_DASSERT(lock_.is_locked(), "the lock protects the queue of waiters");
    WEFT_DASSERT(!closed_, "a closed pool hands over nothing");
    WEFT_DASSERT(!claimed.cell(), "a slot is handed to one waiter only");
    WEFT_DASSERT(slot->link.is_linked(), "a slot stays in in_use_ while it is handed over");
    while (Entry* entry = waiters_.pop_front()) {
        WEFT_DASSERT(!entry->slot && !entry->closed, "a queued waiter has been given nothing");
        bool is_claimed = entry->ref.try_claim(Wake::Ready);
        if (!is_claimed && !WEFT_PLANTED("data_pool.hands_to_the_ended")) continue;
        entry->slot = slot;
        if (is_claimed) claimed = entry->ref;
        return true;
    }
    return false;
}

bool Core::tidy(Slot& slot) {
    if (!slot.connection) return false;
    return shield(Deadline::after(kTidyTimeout), [&] {
        Connection& connection = *slot.connection;
        ConnectionState state = connection.state();
        if (state == ConnectionState::Transaction || state == ConnectionState::Failed) {
            if (WEFT_PLANTED("data_pool.leaves_transactions_open")) return true;
            static_cast<void>(connection.step(TransactionStep::Rollback, 0, {}));
        }
        if (WEFT_PLANTED("data_pool.keeps_the_broken")) return true;
        return connection.state() == ConnectionState::Idle && connection.reset().has_value();
    });
}

void Core::discard(Slot* slot, std::uint64_t PoolStats::* counter) {
    slot->connection.reset();
    {
        SpinGuard guard(lock_);
        ++(stats_.*counter);
    }
    free_slot(slot);
}

// The slot has no connection, and the caller is its holder.
void Core::free_slot(Slot* slot) {
    WEFT_ASSERT(!slot->connection, "a freed slot has no connection");
    WaitRef claimed;
    std::unique_ptr<Slot> freed;
    bool drained = false;
    {
        SpinGuard guard(lock_);
        WEFT_DASSERT(slot->link.is_linked(), "a held slot is in in_use_");
        WEFT_DASSERT(!closed_ || waiters_.empty(), "a closed pool has no waiters");
        slot->purpose = kOpening;
        slot->leased_at = Clock::now();
        if (closed_ || !hand_over(slot, claimed)) {
            if (slot->link.is_linked()) in_use_.erase(*slot);
            auto at = std::ranges::find(slots_, slot, &std::unique_ptr<Slot>::get);
            WEFT_ASSERT(at != slots_.end(), "a slot is freed once");
            freed = std::move(*at);
            slots_.erase(at);
            drained = closed_ && slots_.empty();
        }
    }
    if (claimed.cell()) claimed.resume();
    // A closed pool opens nothing, so it stays drained.
    if (drained) drained_.set();
}

Result<void> Core::close(Deadline deadline) {
    std::vector<Slot*> idle;
    std::vector<WaitRef> claimed;
    {
        SpinGuard guard(lock_);
        closed_ = true;
        while (Entry* entry = waiters_.pop_front()) {
            if (WEFT_PLANTED("data_pool.closes_without_waking")) continue;
            if (!entry->ref.try_claim(Wake::Ready)) continue;
            WEFT_DASSERT(!entry->slot, "a queued waiter has been given nothing");
            entry->closed = true;
            claimed.push_back(entry->ref);
        }
        while (Slot* slot = idle_.pop_front()) {
            in_use_.push_back(*slot);
            idle.push_back(slot);
        }
    }
    for (WaitRef& ref : claimed) ref.resume();
    for (Slot* slot : idle) discard(slot, &PoolStats::closed_idle);
    wake_sweeper_.set();
    {
        SpinGuard guard(lock_);
        if (slots_.empty()) return {};
    }
    return drained_.wait_until(deadline);
}

void Core::warn_of_leaks(Instant now, Deadline& next) {
    WEFT_DASSERT(lock_.is_locked(), "the lock protects the slots");
    if (options_.leak_after <= Nanoseconds::zero()) return;
    for (Slot& slot : in_use_) {
        if (slot.leak_logged) continue;
        Deadline due = Deadline::after(options_.leak_after, slot.leased_at);
        if (!due.expired(now)) {
            next = earlier(next, due);
            continue;
        }
        slot.leak_logged = true;
        ++stats_.leaks_suspected;
        log(LogLevel::Warn, "data {}: a connection is in use by {} for {} ms", name_, slot.purpose,
            milliseconds(now - slot.leased_at));
    }
}

std::size_t Core::count_idle() const {
    WEFT_DASSERT(lock_.is_locked(), "the lock protects the slots");
    std::size_t count = 0;
    for (const Slot& slot : idle_) count += slot.connection != nullptr;
    WEFT_ASSERT(count <= slots_.size(), "every idle slot is owned by slots_");
    return count;
}

Deadline Core::prune(Instant now) {
    Deadline next = Deadline::never();
    std::vector<std::pair<Slot*, std::uint64_t PoolStats::*>> expired;
    {
        SpinGuard guard(lock_);
        warn_of_leaks(now, next);
        std::size_t idle = count_idle();
        // Starts with the connection that has been idle longest.
        for (Slot* slot = idle_.back(); slot;) {
            bool is_old = slot->lifetime_end <= now;
            bool may_prune =
                options_.idle_timeout > Nanoseconds::zero() && idle > options_.connections_min;
            Deadline due = Deadline::at(slot->lifetime_end);
            if (may_prune)
                due = earlier(due, Deadline::after(options_.idle_timeout, slot->idle_since));
            if (!is_old && !due.expired(now)) {
                next = earlier(next, due);
                break;
            }
            WEFT_ASSERT(idle > 0, "every idle slot has a connection and is counted");
            idle_.erase(*slot);
            in_use_.push_back(*slot);
            slot->purpose = "closing";
            slot->leased_at = now;
            expired.emplace_back(slot, is_old ? &PoolStats::closed_old : &PoolStats::closed_idle);
            --idle;
            slot = idle_.back();
        }
    }
    for (auto [slot, counter] : expired) discard(slot, counter);
    return next;
}

PoolStats Core::stats() const {
    SpinGuard guard(lock_);
    PoolStats stats = stats_;
    stats.connections_max = options_.connections_max;
    stats.connections = slots_.size();
    stats.idle = count_idle();
    WEFT_ASSERT(stats.connections <= options_.connections_max, "the pool is bounded");
    stats.in_use = stats.connections - stats.idle;
    stats.waiting = waiting_;
    return stats;
}

bool Core::has_free() const {
    SpinGuard guard(lock_);
    if (closed_) return true;
    return waiters_.empty() && (!idle_.empty() || slots_.size() < options_.connections_max);
}

std::size_t Core::waiting() const {
    SpinGuard guard(lock_);
    return waiting_;
}

void Core::start_sweeper() {
    // Relaxed: the common case is that the sweeper runs already; the exchange below decides.
    if (sweeping_.load(std::memory_order_relaxed) || !current()) return;
    // seq_cst, here and in sweep(): this caller changed the slots before the exchange, and the
    // sweeper examines the slots again after it has cleared the flag. In the one total order at
    // least one of the two sees the other, so an expired connection is not left without a sweeper.
    if (sweeping_.exchange(true, std::memory_order_seq_cst)) return;
    // In the background context, because it outlives the caller that starts it.
    async::Context root = async::Context::background();
    Result<void> started =
        spawn_detached([self = shared_from_this()] { self->sweep(); },
                       [self = shared_from_this()](const Error&) { self->stop_sweeping(); },
                       {.name = "database pool", .token = root.token().state()});
    if (!started) stop_sweeping();
}

// The sweeper fiber: closes expired connections as long as the pool has any.
void Core::sweep() {
    for (;;) {
        // Relaxed: only the running sweeper clears the flag, which was set before it started.
        WEFT_DASSERT(sweeping_.load(std::memory_order_relaxed), "one sweeper runs at a time");
        Instant now = Clock::now();
        Deadline next = prune(now);
        bool ended = !CancelToken::current().check();
        bool more = false;
        {
            SpinGuard guard(lock_);
            ended = ended || closed_;
            more = !slots_.empty();
        }
        if (ended || !more) {
            stop_sweeping();
            SpinGuard guard(lock_);
            more = !slots_.empty();
            // seq_cst: see start_sweeper().
            if (ended || !more || sweeping_.exchange(true, std::memory_order_seq_cst)) return;
        }
        // A connection that becomes used or idle during this sleep is not due before it ends.
        Nanoseconds longest = Nanoseconds::max();
        for (Nanoseconds limit : {options_.idle_timeout, options_.leak_after})
            if (limit > Nanoseconds::zero()) longest = std::min(longest, limit);
        next = earlier(next, Deadline::after(longest, now));
        next = std::max(next, Deadline::after(kSweepPauseMin, now));
        static_cast<void>(wake_sweeper_.wait_until(next));
    }
}

}  // namespace weft::data::pool_internal
