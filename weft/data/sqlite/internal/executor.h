// Executor: a thread that executes one piece of work at a time for a fiber that waits for it. One
// fiber at a time calls run().
//
// The work lives in the frame of the calling fiber, which therefore waits until the work is done.
// When the wait is cancelled or times out, the executor asks the work to stop by its number, so
// that a late request can never stop the next piece of work. The destructor joins the thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"

namespace weft::data::sqlite_internal {

class Executor {
public:
    // `cancel` makes the work with this number end soon, if it is still under way. It may be called
    // from any thread.
    using Cancel = void (*)(void* owner, std::uint64_t number);

    Executor(void* owner, Cancel cancel) : owner_(owner), cancel_(cancel) {}
    ~Executor();  // no work may be under way
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // OutOfMemory if the machine has no more threads; then nothing can be run.
    Result<void> start();
    bool is_started() const { return started_; }

    // Calls the function on the thread and waits for it. A successful result is returned even if
    // the wait was cancelled meanwhile; if the function failed and the wait was cancelled, the
    // error says why the wait ended.
    template <class T, class Function>
    Result<T> run(Function&& function) {
        std::optional<Result<T>> outcome;
        auto body = [&] { outcome.emplace(function()); };
        Result<void> waited = run_body(body);
        WEFT_ASSERT(outcome.has_value(), "run_body() returns after the work is done");
        if (!*outcome && !waited) return waited.error();
        return std::move(*outcome);
    }

    // The number of the work under way. On the executor's thread only.
    std::uint64_t number() const { return number_; }

private:
    struct Work {
        std::function<void()> body;
        std::uint64_t number = 0;
        Event done;
    };

    Result<void> run_body(std::function<void()> body);
    void serve();

    void* const owner_;
    const Cancel cancel_;
    Channel<Work*> work_{1};
    std::uint64_t last_number_ = 0;  // number of the latest work; of the calling fiber
    std::uint64_t number_ = 0;       // number of the work under way; of the thread
    EnvThread thread_ = {};
    bool started_ = false;
};

}  // namespace weft::data::sqlite_internal
