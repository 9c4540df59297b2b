// What the C++ programs of bench/ compute, so that ours and the peers do equal work.
// The Go and Rust peers repeat these few lines in their languages. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace bench {

inline constexpr std::size_t kBuffered = 128;      // chan128, ping128, mpmc
inline constexpr std::size_t kPairs = 4;           // mpmc: producers, and as many consumers
inline constexpr std::size_t kMutexFibers = 100;   // mutex: one set is 100 fibers …
inline constexpr std::size_t kLocksEach = 10'000;  // … × 10,000 locks
inline constexpr std::size_t kFibYields = 10;
inline constexpr std::size_t kSkynetChildren = 10;
inline constexpr std::size_t kGroupJobs = 16;
inline constexpr int kPoolWorkers = 4;
inline constexpr int kPoolQueue = 128;

// The barrier keeps the compiler from folding the recursion.
[[gnu::noinline]] inline int fib(int n) {
    asm volatile("" : "+r"(n));
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

// The same durations of 1 to 1000 ms in every program.
class SleepTimes {
public:
    std::chrono::milliseconds next() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return std::chrono::milliseconds(1 + (state_ >> 33) % 1000);
    }

private:
    std::uint64_t state_ = 0;
};

inline std::size_t sum_below(std::size_t count) { return count * (count - 1) / 2; }

// A wrong answer makes the measurement worthless: say so and end.
inline void expect_equal(std::string_view what, std::size_t got, std::size_t wanted) {
    if (got == wanted) return;
    std::fprintf(stderr, "%.*s: got %zu, wanted %zu\n", static_cast<int>(what.size()), what.data(),
                 got, wanted);
    std::abort();
}

struct Workload {
    std::string_view name;
    void (*run)(std::size_t count);
};

// `program <metric> [count]`; for `echo` the count is the port.
struct Request {
    const Workload* workload = nullptr;
    std::size_t count = 1'000'000;
};

inline Request parse_request(std::span<const Workload> workloads, int argc, char** argv) {
    Request request;
    for (const Workload& workload : workloads) {
        if (argc > 1 && workload.name == argv[1]) request.workload = &workload;
    }
    if (request.workload == nullptr) {
        std::fprintf(stderr, "usage: %s <metric> [count]; metrics:", argv[0]);
        for (const Workload& workload : workloads) {
            std::fprintf(stderr, " %.*s", static_cast<int>(workload.name.size()),
                         workload.name.data());
        }
        std::fprintf(stderr, "\n");
        std::exit(2);
    }
    if (argc > 2) request.count = std::strtoul(argv[2], nullptr, 10);
    return request;
}

}  // namespace bench
