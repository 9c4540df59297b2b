// Timeouts: a job that must be done in time. It runs on a fiber of its own, whose waits all end at
// the deadline; whoever asked goes on then, even if the job does not.
#include "weft/async/timeout.h"

#include <cstdio>

#include "weft/fiber/runtime.h"

using weft::Error;
using weft::ErrorKind;
using weft::Result;
using weft::sleep_for;
using namespace weft::async;
using namespace std::chrono_literals;

namespace {

void show(const char* what, const Result<void>& outcome) {
    std::printf("%s: %s\n", what, outcome ? "done" : outcome.error().message().c_str());
}

Result<bool> demonstrate() {
    Result<void> in_time = with_timeout(10s, [] { return sleep_for(1ms); });
    show("in time", in_time);

    Result<void> too_late = with_timeout(5ms, [] { return sleep_for(1h); });
    show("too late", too_late);

    // What the job itself returns in time is passed on unchanged.
    Result<void> failed =
        with_timeout(10s, []() -> Result<void> { return Error(ErrorKind::Other, "no such user"); });
    show("failed", failed);

    // The time is up before it begins: the job is not started.
    bool started = false;
    Result<void> expired = with_timeout(0ms, [&] { started = true; });
    show("expired", expired);

    // The parent's own end is told as what it is.
    auto [parent, cancel] = Context::current().with_timeout(5ms);
    Result<void> by_parent = with_timeout_context(parent, 1h, [] { return sleep_for(1h); });
    show("ended by the parent", by_parent);

    return in_time && !too_late && !failed && !expired && !started && !by_parent;
}

}  // namespace

int main() { return weft::run(demonstrate) == true ? 0 : 1; }
