// What the tests of this folder share.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/event.h"

namespace weft::async_test {

// Long enough never to be reached by a test that passes, short enough to end one that hangs.
inline constexpr std::chrono::seconds kTooLong{60};
// The time limit for waits that a test expects to time out.
inline constexpr std::chrono::milliseconds kShort{2};

inline RuntimeOptions workers(unsigned count) {
    RuntimeOptions options;
    options.workers = count;
    return options;
}

// Runs the function on a fiber of a runtime with so many workers.
template <class Function>
void on_workers(unsigned count, Function&& function) {
    Result<void> outcome = weft::run(std::forward<Function>(function), workers(count));
    WEFT_ASSERT(outcome.has_value(), "the test's own fiber failed");
}

// Runs the function on a plain thread, with a runtime on which its jobs run.
template <class Function>
void on_thread(Function&& function) {
    Runtime runtime(workers(2));
    CancelScope scope(async::Context::background(runtime).token());
    std::forward<Function>(function)();
}

// The promises hold for fibers and for plain threads.
template <class Function>
void everywhere(Function&& function) {
    on_workers(1, function);
    on_workers(2, function);
    on_thread(function);
}

// Empty if there is no error.
template <class T>
std::string text_of(const Result<T>& result) {
    return result ? std::string() : result.error().message();
}

inline Error failure(std::string_view text) { return Error(ErrorKind::Other, text); }

// A job that ignores the end of its context.
inline void ignore_context_until(Event& event) {
    shield(Deadline::after(kTooLong), [&] { static_cast<void>(event.wait()); });
}

// A job that only waits for the end of its context.
inline Result<void> wait_for_end(const async::Context& context) {
    WEFT_TRY(Event().wait_until(Deadline::after(kTooLong), context.done()));
    return context.check();
}

// A function that cannot be handed over to a job.
struct ThrowsOnCopy {
    ThrowsOnCopy() = default;
    ThrowsOnCopy(const ThrowsOnCopy&) { throw std::runtime_error("not to be copied"); }
    int operator()() const { return 0; }
};

}  // namespace weft::async_test
