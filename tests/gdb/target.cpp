// gdb_target [guards by mprotect]
// Says "ready" when one fiber and a task wait, one runs and one waits for all; goes on until it is
// killed.
#include <cstdio>

#include "weft/async/task.h"
#include "weft/base/atomic.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/switch/stack.h"
#include "weft/sync/channel.h"

namespace {

[[gnu::noinline]] int wait_for_an_item(weft::Channel<int>& channel) {
    int marker = 4711;
    weft::Result<int> item = channel.receive();
    return item ? *item + marker : marker;
}

[[gnu::noinline]] void compute_for_ever(weft::Atomic<bool>& started) {
    started.store(true, std::memory_order_release);
    while (started.load(std::memory_order_relaxed)) {}
}

}  // namespace

int main(int argc, char**) {
    // gdb, which writes a core file in pieces, leaves out a piece that has the light guards in it.
    if (argc > 1) weft::stacks::force_guard_kind(weft::GuardKind::Mprotect);
    weft::Channel<int> channel(0);
    weft::Atomic<bool> started{false};
    weft::RuntimeOptions options;
    options.workers = 2;
    options.stall_report = std::chrono::milliseconds(0);
    auto outcome = weft::run(
        [&]() -> weft::Result<void> {
            auto waiting = weft::spawn([&] { return wait_for_an_item(channel); },
                                       {.name = "waiting for an item"});
            auto computing = weft::spawn([&] { compute_for_ever(started); }, {.name = "computing"});
            auto task = WEFT_TRY(weft::async::run_task([&] { return channel.receive(); }));
            // On the other worker all have their turn.
            while (!started.load(std::memory_order_acquire)) weft::yield();
            WEFT_TRY(weft::sleep_for(std::chrono::milliseconds(50)));
            std::puts("ready");
            std::fflush(stdout);
            WEFT_TRY(waiting.join());
            return computing.join();
        },
        options);
    return outcome ? 0 : 1;
}
