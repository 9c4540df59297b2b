// A pipeline of three stages with several fibers in the middle, bounded in time: whatever stage is
// waiting when the deadline comes returns with TimedOut, without asking for it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"

using namespace weft;
using namespace std::chrono_literals;

namespace {

std::uint64_t collatz_steps(std::uint64_t n) {
    std::uint64_t steps = 0;
    for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

Result<std::uint64_t> longest_below(std::uint64_t limit, Deadline deadline) {
    Channel<std::uint64_t> numbers(128);
    Channel<std::uint64_t> lengths(128);
    Future<void> source;
    std::vector<Future<void>> stages;
    Future<std::uint64_t> sink;
    {
        // What is spawned in this scope carries the deadline; the joins below do not: they wait
        // until every fiber that uses the channels has ended.
        CancelScope scope(CancelSource::with_deadline(deadline).token());
        source = spawn([&]() -> Result<void> {
            for (std::uint64_t n = 1; n < limit; ++n) WEFT_TRY(numbers.send(n));
            return {};
        });
        for (int i = 0; i < 4; ++i) {
            stages.push_back(spawn([&] {
                return numbers.for_each(
                    [&](std::uint64_t n) { return lengths.send(collatz_steps(n)); });
            }));
        }
        sink = spawn([&]() -> Result<std::uint64_t> {
            std::uint64_t longest = 0;
            for (Result<std::uint64_t> length : lengths)
                longest = std::max(longest, WEFT_TRY(length));
            return longest;
        });
    }
    Result<void> outcome = source.join();
    numbers.close();
    for (Future<void>& stage : stages) {
        if (Result<void> ended = stage.join(); outcome && !ended) outcome = ended;
    }
    lengths.close();
    Result<std::uint64_t> longest = sink.join();
    if (!outcome) return outcome.error();
    return longest;
}

}  // namespace

int main() {
    Result<std::uint64_t> in_time =
        run([] { return longest_below(100'000, Deadline::after(60s)); });
    std::printf("longest chain below 100000: %llu steps\n",
                static_cast<unsigned long long>(in_time.value_or(0)));

    Result<std::uint64_t> too_late =
        run([] { return longest_below(100'000'000, Deadline::after(5ms)); });
    std::printf("below 100000000 in 5 ms: %s\n",
                too_late ? "?" : too_late.error().message().c_str());
    return in_time == std::uint64_t{350} && !too_late ? 0 : 1;
}
