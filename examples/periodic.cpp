// Periodic work: every() runs a job again and again in this fiber, start_every() beside it. Runs
// never overlap; the first comes after one interval; a cancelled context ends them.
#include "weft/async/periodic.h"

#include <cstdio>

#include "weft/fiber/runtime.h"

using weft::Error;
using weft::ErrorKind;
using weft::Result;
using weft::sleep_for;
using namespace weft::async;
using namespace std::chrono_literals;

namespace {

Result<bool> demonstrate() {
    // In this fiber, until the context ends.
    auto [context, cancel] = Context::current().with_cancel();
    int runs = 0;
    Result<void> ended = every(context, 2ms, [&, &stop = cancel] {
        std::printf("clean up, run %d\n", ++runs);
        if (runs == 3) stop.cancel();
    });
    std::printf("every() ended: %s\n", ended ? "?" : ended.error().message().c_str());

    // An error of the job ends it too, and comes back unchanged.
    Result<void> failed = every(Context::current(), 1ms, []() -> Result<void> {
        return Error(ErrorKind::Other, "disk is full");
    });
    std::printf("every() failed: %s\n", failed ? "?" : failed.error().message().c_str());

    // Beside this fiber, until it is stopped: a clean stop is no error.
    int beats = 0;
    PeriodicHandle heart = WEFT_TRY(start_every(Context::current(), 1ms, [&] { ++beats; }));
    WEFT_TRY(sleep_for(20ms));
    heart.stop();
    WEFT_TRY(heart.wait());
    std::printf("the heart beat%s\n", beats > 0 ? "" : " not");
    return runs == 3 && !ended && !failed && beats > 0;
}

}  // namespace

int main() { return weft::run(demonstrate) == true ? 0 : 1; }
