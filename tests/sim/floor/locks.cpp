#include "tests/sim/floor/locks.h"

#include <deque>
#include <mutex>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/condition.h"
#include "weft/sync/mutex.h"
#include "weft/sync/shared_mutex.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;

// What happens while a lock is held: nothing, a switch, a wait.
void dwell() {
    switch (random_below(4)) {
    case 0: return yield();
    case 1: static_cast<void>(sleep_for(up_to_us(10))); return;
    case 2: env::step(); return;
    default: return;
    }
}

// True if it is held now. Every way to lock, with every way not to get it.
bool lock_somehow(Mutex& mutex) {
    // From a few steps to many.
    Nanoseconds patience(random_below(coin() ? 500 : 15'000));
    switch (random_below(6)) {
    case 0: return mutex.try_lock();
    case 1: return mutex.try_lock_for(patience);
    case 2: {
        CancelSource source = CancelSource::detached(Deadline::after(patience));
        Result<void> locked = mutex.lock_cancellable(Deadline::never(), source.token());
        require(locked || is_error(locked, ErrorKind::TimedOut), "a mutex gave an odd error");
        return locked.has_value();
    }
    default: mutex.lock(); return true;
    }
}

}  // namespace

void mutex_exclusion() {
    Runtime runtime({.workers = some_workers()});
    Mutex mutex;
    int inside = 0;
    int entries = 0;
    int expected = 0;
    Crew crew(runtime);
    for (int i = between(2, 5); i > 0; --i) {
        crew.add([&] {
            for (int round = between(1, 8); round > 0; --round) {
                if (!lock_somehow(mutex)) continue;
                require(++inside == 1, "two hold the mutex");
                ++expected;
                int before = entries;
                dwell();
                entries = before + 1;
                --inside;
                mutex.unlock();
            }
        });
    }
    crew.join();
    require(entries == expected, "an update under the mutex was lost");
    require(mutex.try_lock(), "the mutex was left locked");
    mutex.unlock();
}

// Most waits end by themselves at the moment of an unlock; those who wait for ever must be woken.
void mutex_impatience() {
    Runtime runtime({.workers = some_workers()});
    Mutex mutex;
    int inside = 0;
    Crew crew(runtime);
    for (int i = between(2, 3); i > 0; --i) {
        crew.add_thread([&] {
            for (int round = between(6, 20); round > 0; --round) {
                bool patient = random_below(4) == 0;
                if (patient) mutex.lock();
                if (!patient && !mutex.try_lock_for(Nanoseconds(random_below(300)))) continue;
                require(++inside == 1, "two hold the mutex");
                for (std::uint64_t steps = random_below(20); steps > 0; --steps) env::step();
                --inside;
                mutex.unlock();
            }
        });
    }
}

// Somebody locks and unlocks without a pause; whoever waits gets its turn nevertheless.
void mutex_hand_over() {
    Runtime runtime({.workers = some_workers()});
    Mutex mutex;
    int waiting = between(1, 3);
    Crew crew(runtime);
    crew.add_fiber([&] {
        // Bounded by the machine's limit of steps: a starved waiter fails the run.
        while (waiting != 0) {
            std::lock_guard guard(mutex);
            yield();
            env::spin_pause(0);  // the machine may let others go first
        }
    });
    for (int i = waiting; i > 0; --i) {
        crew.add([&] {
            std::lock_guard guard(mutex);
            --waiting;
        });
    }
}

void shared_mutex_exclusion() {
    Runtime runtime({.workers = some_workers()});
    SharedMutex mutex;
    int readers = 0;
    int writers = 0;
    Crew crew(runtime);
    auto read = [&] {
        if (coin()) {
            mutex.lock_shared();
        } else if (!mutex.try_lock_shared_for(up_to_us(15))) {
            return;
        }
        ++readers;
        require(writers == 0, "a reader met a writer");
        dwell();
        require(writers == 0, "a writer came to a reader");
        --readers;
        mutex.unlock_shared();
    };
    auto write = [&] {
        if (coin()) {
            mutex.lock();
        } else {
            CancelSource source = CancelSource::detached(Deadline::after(up_to_us(15)));
            if (!mutex.lock_cancellable(Deadline::never(), source.token())) return;
        }
        require(++writers == 1 && readers == 0, "a writer is not alone");
        dwell();
        require(writers == 1 && readers == 0, "somebody came to a writer");
        --writers;
        mutex.unlock();
    };
    for (int i = between(2, 5); i > 0; --i) {
        crew.add([&] {
            for (int round = between(1, 3); round > 0; --round) {
                if (random_below(3) == 0) {
                    write();
                } else {
                    read();
                }
            }
        });
    }
    crew.join();
    require(mutex.try_lock(), "the mutex was left locked");
    mutex.unlock();
}

// Whoever waits is served in the order of arrival; readers that follow each other go together.
void shared_mutex_order() {
    Runtime runtime({.workers = some_workers()});
    SharedMutex mutex;
    mutex.lock();
    int count = between(2, 5);
    std::deque<Watched> watched(static_cast<std::size_t>(count));
    std::vector<bool> writes;
    std::vector<int> order;
    int inside = 0;
    Crew crew(runtime);
    for (int i = 0; i < count; ++i) {
        writes.push_back(coin());
        Watched& here = watched[static_cast<std::size_t>(i)];
        crew.add([&, i, writer = writes.back()] {
            here.here();
            if (writer) {
                mutex.lock();
            } else {
                mutex.lock_shared();
            }
            ++inside;
            if (writer) require(inside == 1, "a writer is not alone");
            order.push_back(i);
            dwell();
            --inside;
            if (writer) return mutex.unlock();
            mutex.unlock_shared();
        });
        here.await_waiting();
    }
    mutex.unlock();
    crew.join();
    for (std::size_t at = 1; at < order.size(); ++at) {
        for (std::size_t before = 0; before < at; ++before) {
            if (order[before] < order[at]) continue;
            // An inversion: only among readers with no writer between them.
            for (int i = order[at]; i <= order[before]; ++i)
                require(!writes[static_cast<std::size_t>(i)], "somebody overtook a writer");
        }
    }
}

// A writer waits behind a reader and gives up: the readers behind it come in without an unlock.
void shared_mutex_giving_up() {
    Runtime runtime({.workers = some_workers()});
    SharedMutex mutex;
    mutex.lock_shared();
    int readers = between(1, 3);
    int inside = 1;
    Crew crew(runtime);
    crew.add([&] {
        CancelSource source = CancelSource::detached(Deadline::after(up_to_us(20)));
        Result<void> locked = mutex.lock_cancellable(Deadline::never(), source.token());
        require(is_error(locked, ErrorKind::TimedOut), "a writer came to a reader");
    });
    for (int i = 0; i < readers; ++i) {
        crew.add([&] {
            mutex.lock_shared();
            ++inside;
        });
    }
    crew.join();
    require(inside == readers + 1, "a reader was forgotten");
    for (; inside != 0; --inside) mutex.unlock_shared();
}

// A queue with a limit, as everybody writes it: every notification must arrive.
void condition_queue() {
    Runtime runtime({.workers = some_workers()});
    Mutex mutex;
    Condition not_empty;
    Condition not_full;
    std::deque<int> items;
    int count = between(1, 8);
    auto room = static_cast<std::size_t>(between(1, 2));
    int produced = 0;
    int consumed = 0;
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            for (;;) {
                std::unique_lock lock(mutex);
                if (produced == count) return not_full.notify_one();
                Result<void> waited =
                    not_full.wait(lock, [&] { return items.size() < room || produced == count; });
                require(waited.has_value(), "a wait was cancelled by nobody");
                if (produced == count) return not_full.notify_one();
                items.push_back(produced++);
                not_empty.notify_one();
            }
        });
    }
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            for (;;) {
                std::unique_lock lock(mutex);
                auto ready = [&] { return !items.empty() || consumed == count; };
                Result<void> waited = coin() ? not_empty.wait_for(lock, up_to_us(20), ready)
                                             : not_empty.wait(lock, ready);
                require(waited || is_error(waited, ErrorKind::TimedOut), "an odd error");
                if (!waited) continue;
                if (items.empty()) return not_empty.notify_one();
                items.pop_front();
                if (++consumed == count) not_empty.notify_one();
                not_full.notify_one();
            }
        });
    }
    crew.join();
    require(consumed == count && items.empty(), "an item was lost");
}

// Each notify_one() ends exactly one wait, although deadlines end others at the same time.
void condition_notify_one() {
    Runtime runtime({.workers = some_workers()});
    Mutex mutex;
    Condition condition;
    int waiters = between(1, 4);
    int waiting = 0;
    int notified = 0;
    int expired = 0;
    Crew crew(runtime);
    for (int i = 0; i < waiters; ++i) {
        Deadline deadline = coin() ? Deadline::after(up_to_us(60)) : Deadline::never();
        crew.add([&, deadline] {
            std::unique_lock lock(mutex);
            ++waiting;
            Result<void> waited = condition.wait_until(lock, deadline);
            require(lock.owns_lock(), "a wait returned without the mutex");
            --waiting;
            if (waited) {
                ++notified;
            } else {
                require(is_error(waited, ErrorKind::TimedOut), "an odd error");
                require(deadline.expired(Clock::now()), "a wait timed out early");
                ++expired;
            }
        });
    }
    // Until everybody has been woken by one or the other.
    int given = 0;
    for (;;) {
        std::unique_lock lock(mutex);
        if (notified + expired == waiters) break;
        bool somebody = waiting > 0;
        if (somebody) ++given;
        condition.notify_one();
        lock.unlock();
        static_cast<void>(sleep_for(up_to_us(20)));
    }
    crew.join();
    require(notified <= given, "one notification woke two");
}

// Cancelled at one exact step: the mutex is held again, and nobody else's notification is taken.
void condition_anywhere() {
    Runtime runtime({.workers = some_workers()});
    CancelSource source = CancelSource::detached();
    Mutex mutex;
    Condition condition;
    bool open = false;
    int holders = 0;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        source.cancel();
    });
    for (int i = 0; i < 2; ++i) {
        crew.add([&, i] {
            std::unique_lock lock(mutex);
            Deadline never = Deadline::never();
            CancelToken token = i == 0 ? source.token() : CancelToken();
            Result<void> waited = condition.wait_until(lock, never, [&] { return open; }, token);
            require(++holders == 1, "a wait returned without the mutex");
            env::step();
            --holders;
            require(waited || i == 0, "another one was cancelled");
            // A notification that came together with the cancellation is passed on.
            if (!waited) condition.notify_one();
        });
    }
    crew.add([&] {
        some_yields();
        std::unique_lock lock(mutex);
        open = true;
        condition.notify_one();
        lock.unlock();
        condition.notify_one();
    });
}

}  // namespace weft::sim::scenarios
