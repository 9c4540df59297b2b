#include "tests/sim/floor/timers.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/timer.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;

// From the past to some hours ahead: every level of the wheel that a run can reach.
Nanoseconds some_distance() {
    switch (random_below(6)) {
    case 0: return -Nanoseconds(random_below(1'000'000));
    case 1: return Nanoseconds(0);
    case 2: return Nanoseconds(random_below(100'000));
    case 3: return Nanoseconds(random_below(50'000'000));
    case 4: return Nanoseconds(random_below(10'000'000'000));
    default: return Nanoseconds(random_below(20'000'000'000'000));
    }
}

// A timer that says when it fires, and what a wheel should do with it.
struct Alarm : Timer {
    explicit Alarm(std::vector<Alarm*>* fired_in) : Timer(on_fire), fired(fired_in) {}
    static void on_fire(Timer& timer, TimerEnd end) {
        auto& self = static_cast<Alarm&>(timer);
        require(self.is_set, "a timer fired that was not set");
        self.is_set = false;
        if (end == TimerEnd::Due) self.fired->push_back(&self);
    }
    std::vector<Alarm*>* fired;
    std::uint64_t order = 0;  // of setting
    bool is_set = false;
};

// The timers that are due, as a sorted list has them.
std::vector<Alarm*> due_at(std::deque<Alarm>& alarms, Instant now) {
    std::vector<Alarm*> due;
    for (Alarm& alarm : alarms) {
        if (alarm.is_set && alarm.deadline() <= now) due.push_back(&alarm);
    }
    std::ranges::sort(due, [](const Alarm* a, const Alarm* b) {
        if (a->deadline() != b->deadline()) return a->deadline() < b->deadline();
        return a->order < b->order;
    });
    return due;
}

}  // namespace

void sleepers() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(2, 7); i > 0; --i) {
        std::chrono::microseconds wanted = up_to_us(20'000);
        crew.add([wanted] {
            Instant begun = Clock::now();
            require(sleep_for(wanted).has_value(), "a sleep was interrupted");
            require(Clock::now() - begun >= wanted, "a sleep ended early");
        });
    }
    crew.add([] {
        require(sleep_for(-1h).has_value(), "a sleep into the past failed");
        require(sleep_until(Deadline::at(Instant::min())).has_value(), "a past deadline failed");
    });
}

// Deadline against cancellation: one of them ends the sleep, and says so truly.
void sleep_or_cancel() {
    Runtime runtime({.workers = some_workers()});
    CancelSource source = CancelSource::detached();
    bool cancelled = false;
    Crew crew(runtime);
    std::chrono::microseconds moment = up_to_us(400);
    for (int i = between(1, 4); i > 0; --i) {
        // Often the very moment of the cancellation.
        std::chrono::microseconds wanted = coin() ? moment : up_to_us(400);
        crew.add([&, wanted] {
            CancelScope scope(source.token());
            Instant begun = Clock::now();
            Result<void> slept = sleep_for(wanted);
            if (slept) {
                require(Clock::now() - begun >= wanted, "a sleep ended early");
            } else {
                require(is_error(slept, ErrorKind::Cancelled), "a sleep ended with an odd error");
                require(cancelled, "a sleep was cancelled before the token");
            }
        });
    }
    crew.add([&] {
        require(sleep_for(moment).has_value(), "the canceller was cancelled");
        cancelled = true;
        source.cancel();
    });
}

// One wheel against a list: the right timers, in the right order, never early.
void timer_wheel() {
    std::vector<Alarm*> fired;
    std::deque<Alarm> alarms;
    TimerWheel wheel;
    std::uint64_t order = 0;
    Instant now = Clock::now();
    for (int i = 0; i < 12; ++i) alarms.emplace_back(&fired);
    for (int round = between(5, 40); round > 0; --round) {
        Alarm& alarm = alarms[random_below(alarms.size())];
        switch (random_below(3)) {
        case 0:
            if (alarm.is_set) break;
            alarm.is_set = true;
            alarm.order = ++order;
            wheel.set(alarm, now + some_distance());
            break;
        case 1:
            require(wheel.cancel(alarm) == alarm.is_set, "cancel() told the wrong thing");
            alarm.is_set = false;
            break;
        default:
            now += std::max(some_distance(), Nanoseconds(0)) / 4;
            std::vector<Alarm*> expected = due_at(alarms, now);
            fired.clear();
            require(wheel.expire(now) == nullptr, "a wheel of callbacks woke a fiber");
            require(fired == expected, "the wrong timers fired, or in the wrong order");
            break;
        }
        std::int64_t next_due = kNeverNs;
        for (Alarm& one : alarms) {
            if (one.is_set)
                next_due = std::min(next_due, one.deadline().time_since_epoch().count());
        }
        require(wheel.next_due_ns() <= next_due, "a worker would sleep past a deadline");
    }
    for (Alarm& alarm : alarms) {
        if (alarm.is_set) require(wheel.cancel(alarm), "a timer was lost");
    }
}

// One thread sets and cancels, another expires: a timer fires or is cancelled, never both.
void timer_race() {
    Runtime runtime({.workers = 1});
    std::vector<Alarm*> fired;
    std::deque<Alarm> alarms;
    TimerWheel wheel;
    bool over = false;
    for (int i = between(1, 5); i > 0; --i) alarms.emplace_back(&fired);
    Crew crew(runtime);
    crew.add_thread([&] {
        while (!over) {
            wheel.expire(Clock::now());
            env::spin_pause(0);
        }
    });
    crew.add_thread([&] {
        for (int round = between(1, 4); round > 0; --round) {
            for (Alarm& alarm : alarms) {
                alarm.is_set = true;
                wheel.set(alarm, Clock::now() + up_to_us(3));
            }
            for (Alarm& alarm : alarms) {
                for (std::uint64_t wait = random_below(40); wait > 0; --wait) env::step();
                if (coin() && wheel.cancel(alarm)) {
                    require(alarm.is_set, "a timer fired and was cancelled");
                    alarm.is_set = false;
                }
            }
            for (Alarm& alarm : alarms) {
                while (alarm.is_set) env::spin_pause(0);
            }
        }
        over = true;
    });
}

}  // namespace weft::sim::scenarios
