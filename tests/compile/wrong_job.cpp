// Calls that must not compile: a job in a wrong form is refused on the line of the caller, with a
// sentence. Without WEFT_WRONG the rest compiles.
#include <chrono>
#include <memory>
#include <string>

#include "weft/async/combine.h"
#include "weft/async/group.h"
#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/retry.h"
#include "weft/async/scope.h"
#include "weft/async/shared_task.h"
#include "weft/async/supervisor.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"

using namespace std::chrono_literals;
namespace async = weft::async;
using async::Context;

[[maybe_unused]] constexpr auto kRight = [](Context&) { return 1; };
[[maybe_unused]] constexpr auto kWrong = [](int number) { return number; };

void accepted(async::Group& group) {
    static_cast<void>(async::run_task(kRight));
    static_cast<void>(group.go(kRight));
    static_cast<void>(group.go(std::string("job"), kRight));
}

#ifdef WEFT_WRONG
void refused(async::Group& group, async::Pool& pool, async::Supervisor& supervisor,
             async::Scope& scope) {
    static_cast<void>(group.go(kWrong));                                                    // HERE
    static_cast<void>(async::run_task(kWrong));                                             // HERE
    static_cast<void>(async::run_with_context(Context::current(), kWrong));                 // HERE
    static_cast<void>(pool.submit(kWrong));                                                 // HERE
    static_cast<void>(pool.submit(Context::current(), kWrong));                             // HERE
    static_cast<void>(pool.try_submit(kWrong));                                             // HERE
    static_cast<void>(pool.submit_for(1s, kWrong));                                         // HERE
    static_cast<void>(async::every(Context::current(), 1s, kWrong));                        // HERE
    static_cast<void>(async::start_every(Context::current(), 1s, kWrong));                  // HERE
    static_cast<void>(async::with_timeout(1s, kWrong));                                     // HERE
    static_cast<void>(async::with_timeout_context(Context::current(), 1s, kWrong));         // HERE
    static_cast<void>(async::any(kRight, kWrong));                                          // HERE
    static_cast<void>(async::race(kWrong));                                                 // HERE
    static_cast<void>(async::race(kRight, [] { return 'c'; }));                             // HERE
    static_cast<void>(async::retry({}, kWrong));                                            // HERE
    static_cast<void>(async::hedge({.delay = 1s}, kWrong));                                 // HERE
    static_cast<void>(supervisor.add("job", kWrong));                                       // HERE
    static_cast<void>(async::run_shared(kWrong));                                           // HERE
    static_cast<void>(scope.spawn("job", kWrong));                                          // HERE
    static_cast<void>(group.go("job", kWrong));                                             // HERE
    static_cast<void>(async::run_task("job", kWrong));                                      // HERE
    static_cast<void>(async::run_with_context("job", Context::current(), kWrong));          // HERE
    static_cast<void>(pool.submit("job", kWrong));                                          // HERE
    static_cast<void>(pool.submit("job", Context::current(), kWrong));                      // HERE
    static_cast<void>(pool.try_submit("job", kWrong));                                      // HERE
    static_cast<void>(pool.submit_for("job", 1s, kWrong));                                  // HERE
    static_cast<void>(async::start_every("job", Context::current(), 1s, kWrong));           // HERE
    static_cast<void>(async::with_timeout("job", 1s, kWrong));                              // HERE
    static_cast<void>(async::with_timeout_context("job", Context::current(), 1s, kWrong));  // HERE
    static_cast<void>(async::run_shared("job", kWrong));                                    // HERE
    scope.defer(kWrong);                                                                    // HERE
    // It does not say what it gives when it succeeds.
    auto fails = [] { return weft::Error(weft::ErrorKind::Other, "no"); };
    static_cast<void>(group.go(fails));  // HERE
    static int number = 0;
    static_cast<void>(async::run_task([]() -> int& { return number; }));  // HERE
}
#endif
