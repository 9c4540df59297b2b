#include "weft/fiber/turn.h"

#include <string>

#include "weft/base/assert.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {

extern "C" {
// Attribute `used`: it is used by inline assembly, which link-time optimization does not see.
[[gnu::used]] constinit thread_local int weft_turn_left = 1;  // tidy: allow thread_local: budget
}

namespace turn {
namespace {

// On a plain thread and in a worker's own loop, where there is no turn to give up.
constexpr int kBudgetElsewhere = 64;

// Out of line, so that the compiler does not keep the address over the switch that follows.
[[gnu::noinline]] void refill(int operations) {
    WEFT_DASSERT(operations > 0, "a turn has at least one operation");
    weft_turn_left = operations;
}

}  // namespace

#if !defined(__x86_64__) || defined(__ILP32__)
__attribute__((noinline)) bool spend(int cost) {
    asm volatile("" ::: "memory");  // keeps the call from being merged with another
    return (weft_turn_left -= cost) <= 0;
}
#endif

bool end(const char* operation, const void* object) {
    Env* simulated = env::current();
    refill(simulated ? 1 : kBudgetElsewhere);
    if (simulated && !simulated->operation(operation, object, Env::MayWait::Yes)) return false;
    Worker* worker = this_worker();
    if (!worker || !worker->current()) return true;
    WEFT_DASSERT(worker->current()->word.peek() == 0,
                 "between the making of a Waiter and its wait() nothing else may wait");
    if (!simulated) refill(worker->next_budget());
    worker->give_way();
    return true;
}

void keep_value(long long value) { env::current()->keep_value(std::to_string(value)); }

void keep_value(std::string_view value) {
    constexpr std::size_t longest = 16;
    if (value.size() <= longest) env::current()->keep_value('"' + std::string(value) + '"');
}

void step_of(const char* operation, const void* object) {
    static_cast<void>(env::current()->operation(operation, object, Env::MayWait::No));
}

}  // namespace turn
}  // namespace weft
