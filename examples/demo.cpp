// The demonstration of `make run`: a thousand fibers at once, drawn live in the terminal. Each dot
// of the field is a fiber that sleeps, wakes, passes a token to a random neighbour through a
// channel and lights up. Plain lines where the output is no terminal.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"

using namespace weft;
using namespace std::chrono_literals;

namespace {

constexpr int kColumns = 60, kRows = 16, kFibers = kColumns * kRows;

struct Field {
    std::array<Atomic<std::uint8_t>, kFibers> glow{};
    std::vector<std::unique_ptr<Channel<int>>> doors;
    Atomic<std::uint64_t> passed{0};
};

int neighbour_of(int at) {
    static constexpr int kSteps[] = {1, -1, kColumns, -kColumns, kColumns + 1, -kColumns - 1};
    return (at + kSteps[env::random(RandomStream::Workload) % 6] + kFibers) % kFibers;
}

// Relaxed throughout: the picture may be a frame behind.
void cell(Field& field, int at) {
    while (Result<int> token = field.doors[at]->receive()) {
        field.glow[at].store(9, std::memory_order_relaxed);
        field.passed.fetch_add(1, std::memory_order_relaxed);
        if (!sleep_for(std::chrono::milliseconds(5 + *token % 40))) return;
        if (!field.doors[neighbour_of(at)]->send(*token)) return;
    }
}

std::string frame(Field& field) {
    static constexpr const char* kShades[] = {" ", "·", "·", ":", ":", "+", "+", "*", "#", "@"};
    std::string text;
    for (int at = 0; at < kFibers; ++at) {
        std::uint8_t glow = field.glow[at].load(std::memory_order_relaxed);
        if (glow > 1) field.glow[at].store(glow - 1, std::memory_order_relaxed);
        text += "\x1b[38;5;" + std::to_string(232 + 2 * glow + 5) + "m" + kShades[glow];
        if (at % kColumns == kColumns - 1) text += "\x1b[0m\n";
    }
    return text;
}

void show(Field& field, bool live, Deadline end) {
    Instant begun = Clock::now();
    std::uint64_t last = 0;
    for (int picture = 0; !end.expired(Clock::now()); ++picture) {
        if (!sleep_for(live ? 50ms : 1000ms)) return;
        std::uint64_t passed = field.passed.load(std::memory_order_relaxed);
        double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
        if (live) {
            if (picture > 0) std::printf("\x1b[%dA", kRows + 1);
            std::fputs(frame(field).c_str(), stdout);
        }
        std::printf("%d fibers, %.1f s, %llu tokens passed%s", kFibers, seconds,
                    static_cast<unsigned long long>(passed), live ? "   \n" : "");
        if (!live)
            std::printf(" (%llu since the last line)\n",
                        static_cast<unsigned long long>(passed - last));
        std::fflush(stdout);
        last = passed;
    }
}

}  // namespace

int main(int count, char**) {
    bool live = isatty(STDOUT_FILENO) != 0;
    auto lasts = live && count == 1 ? 20s : 3s;
    return run([&] {
               Field field;
               for (int i = 0; i < kFibers; ++i)
                   field.doors.push_back(std::make_unique<Channel<int>>(64));
               CancelSource stop;
               std::vector<Future<void>> cells;
               {
                   CancelScope scope(stop.token());
                   for (int i = 0; i < kFibers; ++i)
                       cells.push_back(spawn([&field, i] { cell(field, i); }, {.name = "cell"}));
               }
               for (int i = 0; i < 200; ++i) static_cast<void>(field.doors[i * 4]->try_send(i));
               show(field, live, Deadline::after(lasts));
               stop.cancel();
               for (Future<void>& one : cells) static_cast<void>(one.join());
               return field.passed.load(std::memory_order_relaxed) > 0 ? 0 : 1;
           })
        .value_or(1);
}
