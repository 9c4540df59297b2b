// A walk through the library in which everything is shared and everything is guarded, on several
// workers. Built with a sanitizer, against a library that is not, it must not be reported.
#include <weft/async/group.h>
#include <weft/async/pool.h>
#include <weft/async/task.h>
#include <weft/fiber/blocking.h>
#include <weft/fiber/runtime.h>
#include <weft/sync/channel.h>
#include <weft/sync/condition.h>
#include <weft/sync/event.h>
#include <weft/sync/mutex.h>
#include <weft/sync/once.h>
#include <weft/sync/select.h>
#include <weft/sync/semaphore.h>
#include <weft/sync/shared_mutex.h>
#include <weft/sync/wait_group.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using weft::Result;
using weft::async::Context;

namespace {

constexpr int kRounds = 200;

// The outcome, the frame and the heap of one fiber belong to its joiner afterwards.
Result<void> spawn_and_join() {
    for (int round = 0; round < kRounds; ++round) {
        int written = 0;
        auto child = weft::spawn([&] {
            if (round % 3 == 0) weft::yield();
            written = round;
            return std::make_unique<std::string>("a text that is too long to lie in the handle");
        });
        auto text = WEFT_TRY(child.join());
        if (written != round || text->size() < 10) return weft::ErrorKind::Other;
        auto thrown = weft::spawn([&]() -> int { throw std::runtime_error("thrown"); }).join();
        if (thrown) return weft::ErrorKind::Other;
    }
    return {};
}

Result<void> park_and_unpark() {
    for (int round = 0; round < kRounds; ++round) {
        int value = 0;
        weft::FiberId parent = weft::current_id();
        auto child = weft::spawn([&] {
            if (round % 2) (void)weft::sleep_for(10us);
            value = 1;
            weft::unpark(parent);
        });
        WEFT_TRY(weft::park());
        value++;
        WEFT_TRY(child.join());
        if (value != 2) return weft::ErrorKind::Other;
    }
    return {};
}

// Plain memory goes through channels, with and without room, by select as well.
Result<void> channels(std::size_t capacity) {
    weft::Channel<std::unique_ptr<int>> forth(capacity);
    weft::Channel<std::unique_ptr<int>> back(capacity);
    auto echo = weft::spawn([&] {
        for (;;) {
            auto item = forth.receive();
            if (!item) break;
            **item += 1;
            if (!back.send(std::move(*item))) break;
        }
        back.close();
    });
    int sum = 0;
    auto reader = weft::spawn([&] {
        bool open = true;
        while (open) {
            (void)weft::select(weft::on_receive(back,
                                                [&](Result<std::unique_ptr<int>> item) {
                                                    if (item) sum += **item;
                                                    open = item.has_value();
                                                }),
                               weft::on_timeout(weft::Deadline::after(10s), [&] { open = false; }));
        }
    });
    for (int round = 0; round < kRounds; ++round) {
        WEFT_TRY(forth.send(std::make_unique<int>(round)));
    }
    forth.close();
    WEFT_TRY(echo.join());
    WEFT_TRY(reader.join());
    return sum == kRounds * (kRounds + 1) / 2 ? Result<void>() : weft::ErrorKind::Other;
}

// One plain number behind every kind of lock, for fibers and a plain thread.
Result<void> locks() {
    weft::Mutex mutex;
    weft::SharedMutex shared;
    weft::Semaphore semaphore(1);
    weft::Condition changed;
    weft::WaitGroup done;
    weft::Once once;
    int by_mutex = 0;
    int by_shared = 0;
    int by_semaphore = 0;
    int prepared = 0;
    constexpr int kFibers = 8;
    auto work = [&] {
        for (int round = 0; round < kRounds; ++round) {
            (void)once.call([&] { prepared = 1; });
            {
                std::lock_guard guard(mutex);
                by_mutex += prepared;
            }
            changed.notify_all();
            {
                std::lock_guard guard(shared);
                by_shared += 1;
            }
            shared.lock_shared();
            int seen = by_shared;
            shared.unlock_shared();
            if (seen > 0 && semaphore.acquire()) {
                by_semaphore += 1;
                semaphore.release();
            }
            if (round % 16 == 0) weft::yield();
        }
        done.done();
    };
    done.add(kFibers + 1);
    for (int i = 0; i < kFibers; ++i) WEFT_TRY(weft::spawn_detached(work));
    std::thread thread(work);
    constexpr int kSum = (kFibers + 1) * kRounds;
    {
        std::unique_lock lock(mutex);
        WEFT_TRY(changed.wait(lock, [&] { return by_mutex == kSum; }));
    }
    WEFT_TRY(done.wait());
    thread.join();
    return by_shared == kSum && by_semaphore == kSum ? Result<void>() : weft::ErrorKind::Other;
}

Result<int> jobs() {
    std::vector<int> results(16);
    int sum = 0;
    {
        weft::async::Group group;
        for (int i = 0; i < 16; ++i) {
            WEFT_TRY(group.go([&, i](Context&) -> Result<void> {
                WEFT_TRY(weft::sleep_for(i * 50us));
                results[i] = i;
                return {};
            }));
        }
        WEFT_TRY(group.wait());
    }
    auto task = WEFT_TRY(weft::async::run_task([&](Context&) -> Result<int> {
        int total = 0;
        for (int result : results) total += result;
        return total;
    }));
    sum += WEFT_TRY(task.wait());
    weft::Mutex mutex;
    auto pool = WEFT_TRY(weft::async::Pool::create({.workers = 3, .queue_size = 4}));
    for (int i = 0; i < kRounds; ++i) {
        WEFT_TRY(pool.submit([&](Context&) -> Result<void> {
            std::lock_guard guard(mutex);
            ++sum;
            return {};
        }));
    }
    WEFT_TRY(pool.close());
    // The end of a context is seen together with what came before it.
    std::string reason;
    weft::Event begun;
    weft::async::Group cancelled;
    WEFT_TRY(cancelled.go([&](Context&) -> Result<void> {
        begun.set();
        auto slept = weft::sleep_for(1h);
        return reason == "enough" ? Result<void>() : slept;
    }));
    WEFT_TRY(begun.wait());
    reason = "enough";
    WEFT_TRY(cancelled.go([](Context&) -> Result<void> { return weft::ErrorKind::Limit; }));
    (void)cancelled.wait();
    for (int i = 0; i < 20; ++i) sum += WEFT_TRY(weft::blocking([&] { return results[3] - 2; }));
    return sum;
}

}  // namespace

int main() {
    auto outcome = weft::run(
        []() -> Result<int> {
            WEFT_TRY(spawn_and_join());
            WEFT_TRY(park_and_unpark());
            for (std::size_t capacity : {0, 1, 16}) WEFT_TRY(channels(capacity));
            WEFT_TRY(locks());
            return jobs();
        },
        {.workers = 4});
    int expected = 15 * 16 / 2 + kRounds + 20;
    if (!outcome || *outcome != expected) {
        std::printf("tour: %s\n", outcome ? "wrong sum" : outcome.error().message().c_str());
        return 1;
    }
    std::printf("tour: done\n");
    return 0;
}
