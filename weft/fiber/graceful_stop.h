// GracefulStop: what a service does when it is told to end.
//
//     Runtime runtime;
//     GracefulStop stop = WEFT_TRY(GracefulStop::on_signals(runtime));
//     stop.on_drain([&] { listener.close(); });
//     ... runtime.run();                  // returns when the last request has been answered
//
// On SIGTERM or SIGINT the functions of on_drain() are called, newest first: they close listeners.
// The counted fibers then have the drain time to end by themselves; after that, or at a second
// signal, everything is cancelled. SIGUSR1 writes what all fibers are doing to stderr.
//
// Any plain thread. It must not outlive its runtime; begin() may also be called by a program.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft {

class Runtime;

struct StopOptions {
    Nanoseconds drain = std::chrono::seconds(30);
};

class GracefulStop {
public:
    static Result<GracefulStop> on_signals(Runtime& runtime, StopOptions options = {});
    GracefulStop(GracefulStop&&) noexcept;
    GracefulStop& operator=(GracefulStop&&) noexcept;
    ~GracefulStop();

    // Called once, on the signal thread: it must not wait. After the stop has begun: at once.
    void on_drain(std::function<void()> close);

    // As if a signal had come.
    void begin();
    bool has_begun() const;

private:
    struct State;
    explicit GracefulStop(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace weft
