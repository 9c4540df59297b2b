// GracefulStop: stops a service in order when it gets a signal.
//
//     weft::run([]() -> Result<void> {
//         net::Listener listener = WEFT_TRY(net::Listener::open(address));
//         DrainHook drain = WEFT_TRY(weft::on_drain([&] { listener.close(); }));
//         ... accept, until Closed ...
//     });                                 // returns when the last request has been answered
//
// On SIGTERM or SIGINT the functions of on_drain() are called, newest first, one after the other,
// on a fiber of the runtime: they may wait. They close listeners. The counted fibers then have the
// drain time to end by themselves; after that everything is cancelled. What has not ended within
// the unwinding time never will, such as a blocking() call that hangs: then it is reported on
// stderr, and the process ends with status 1. A second signal ends the process at once, as it would
// without a GracefulStop. SIGUSR1 writes what all fibers are doing to stderr.
//
// A function runs only while its DrainHook lives: the hook's destructor removes the function, and
// waits for it if it is being called. So declare the hook after the objects that its function uses:
// then the hook is destroyed first, and the function never uses a destroyed object.
//
// Any fiber, any thread. A stop and its hooks must not outlive their runtime, which has one stop at
// a time. Signals are handled as long as the stop or one of its hooks lives. A simulated machine
// has no signals: there only begin() starts the drain.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft {

class Runtime;
class Scheduler;
struct StopEntry;
struct StopSignals;

struct StopOptions {
    Nanoseconds drain = std::chrono::seconds(30);
    // How long fibers have to end after they were cancelled.
    Nanoseconds unwinding = std::chrono::seconds(2);
};

// Owns a function that is called when the drain begins. Its destructor removes the function, so it
// must be kept.
class [[nodiscard]] DrainHook {
public:
    DrainHook(DrainHook&&) noexcept = default;
    DrainHook& operator=(DrainHook&& other) noexcept {
        std::swap(signals_, other.signals_);
        std::swap(entry_, other.entry_);
        return *this;
    }
    ~DrainHook() { take_back(); }

    // After it the function is not called, and is not being called. Waits for a call that is under
    // way, and cannot be cancelled meanwhile; but does not wait if the function itself calls it. A
    // second call does nothing.
    void take_back() noexcept;

private:
    friend class GracefulStop;
    DrainHook(std::shared_ptr<StopSignals> signals, std::shared_ptr<StopEntry> entry);

    // Owners: the stop and all its hooks.
    std::shared_ptr<StopSignals> signals_;
    // Owners: this, and the list of the stop or the fiber that calls the function.
    std::shared_ptr<StopEntry> entry_;
};

class [[nodiscard]] GracefulStop {
public:
    // From now on signals begin the drain of the runtime, or of that of the running fiber. Misuse
    // if it has a stop already: see current().
    static Result<GracefulStop> on_signals(Runtime& runtime, StopOptions options = {});
    static Result<GracefulStop> on_signals(StopOptions options = {});
    // The stop of the running fiber's runtime; a new one with the default options if it has none.
    static Result<GracefulStop> current();
    GracefulStop(GracefulStop&&) noexcept = default;
    GracefulStop& operator=(GracefulStop&&) noexcept = default;
    ~GracefulStop() = default;

    // `close` takes nothing and returns nothing or a Result<void>, whose error is logged. If the
    // drain has begun already, it is called soon.
    template <class Function>
    DrainHook on_drain(Function&& close) {
        using Returned = std::invoke_result_t<std::decay_t<Function>&>;
        static_assert(std::is_void_v<Returned> || std::is_same_v<Returned, Result<void>>,
                      "a function for on_drain() returns nothing or a Result<void>");
        if constexpr (std::is_void_v<Returned>) {
            return add([close = std::forward<Function>(close)]() mutable -> Result<void> {
                close();
                return {};
            });
        } else {
            return add(std::forward<Function>(close));
        }
    }

    // The first call begins the drain, as a signal does; the second cancels all fibers. Does not
    // wait, and never ends the process.
    void begin();
    bool has_begun() const;

private:
    explicit GracefulStop(std::shared_ptr<StopSignals> signals) : signals_(std::move(signals)) {}
    static Result<GracefulStop> open(Scheduler& scheduler, StopOptions options);
    DrainHook add(std::function<Result<void>()> close);

    std::shared_ptr<StopSignals> signals_;  // as in DrainHook
};

// On a fiber: the signals begin the drain of its runtime, and the drain calls `close`. The one call
// that a service under weft::run() needs.
template <class Function>
Result<DrainHook> on_drain(Function&& close) {
    GracefulStop stop = WEFT_TRY(GracefulStop::current());
    return stop.on_drain(std::forward<Function>(close));
}

}  // namespace weft
