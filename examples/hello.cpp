// Fibers in a minute: spawn, join, sleep, and an error that finds its way.
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "weft/fiber/runtime.h"

using namespace weft;
using namespace std::chrono_literals;

int main() {
    Result<int> sum = run([] {
        // Each fiber has its own stack, so any function in it may wait; no thread is blocked.
        std::vector<Future<int>> squares;
        for (int i = 1; i <= 5; ++i) {
            squares.push_back(spawn([i]() -> Result<int> {
                WEFT_TRY(sleep_for(i * 1ms));
                std::printf("hello from fiber %d\n", i);
                return i * i;
            }));
        }
        int total = 0;
        for (Future<int>& square : squares) total += square.join().value_or(0);

        // What a fiber throws arrives at whoever joins it, as a value.
        Result<void> failed = spawn([] { throw std::runtime_error("as planned"); }).join();
        std::printf("a fiber failed: %s\n", failed.error().message().c_str());
        return total;
    });
    std::printf("sum of squares: %d\n", sum.value_or(-1));
    return sum == 55 ? 0 : 1;
}
