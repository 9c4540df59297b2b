// Executor: a thread that does one piece of work at a time, for a fiber that waits for it.
//
// The work is in the frame of the one who asked, so that one stays until it is done. When its wait
// is cancelled or its time is over, the work is asked to stop, by its number: a request that comes
// late can never stop the next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

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
    // `stop` makes the work of this number end soon, if it is still under way. Any thread.
    using Stop = void (*)(void* owner, std::uint64_t number);

    Executor(void* owner, Stop stop) : owner_(owner), stop_(stop) {}
    ~Executor();  // joins the thread, which has nothing to do
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    void start();

    // Calls the function on the thread and waits for it. Its result counts if it has one, even when
    // the wait was cancelled meanwhile; if it failed then, the error is why the wait ended.
    template <class T, class Function>
    Result<T> run(Function&& function) {
        std::optional<Result<T>> outcome;
        auto body = [&] { outcome.emplace(function()); };
        Result<void> waited = run_body(body);
        if (!*outcome && !waited) return waited.error();
        return std::move(*outcome);
    }

    // On the thread: the number of the work under way.
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
    const Stop stop_;
    Channel<Work*> work_{1};
    std::uint64_t asked_ = 0;   // of the one user
    std::uint64_t number_ = 0;  // of the thread
    EnvThread thread_ = {};
    bool started_ = false;
};

}  // namespace weft::data::sqlite_internal
