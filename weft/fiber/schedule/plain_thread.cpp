#include "weft/fiber/schedule/plain_thread.h"

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/report/monitor.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {
namespace {

constinit thread_local bool own_thread = false;  // tidy: allow thread_local: plain threads only
constinit Atomic<unsigned> joining{0};           // tidy: allow global: a count for diagnosis

}  // namespace

void mark_own_thread() { own_thread = true; }
bool is_own_thread() { return own_thread; }

// seq_cst: counted before thread_waits() tests whether monitors sleep; see
// Monitor::sleep_until_woken().
unsigned joining_threads() { return joining.load(std::memory_order_seq_cst); }
JoiningThread::JoiningThread() {
    joining.fetch_add(1, std::memory_order_seq_cst);
    Monitor::thread_waits();
}
// Relaxed: nobody has to notice the end of a wait.
JoiningThread::~JoiningThread() {
    unsigned before = joining.fetch_sub(1, std::memory_order_relaxed);
    WEFT_ASSERT(before != 0, "a thread ends its join as often as it began one");
}

bool call_on_plain_thread(void (*function)(void* argument), void* argument) {
    if (!this_worker() && !env::current()) {
        function(argument);
        return true;
    }
    EnvThread thread = env::real::start_thread(function, argument, "weft-symbols");
    if (thread.handle == 0) return false;
    env::real::join_thread(thread);
    return true;
}

}  // namespace weft
