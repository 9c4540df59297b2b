// Signals of the process: SignalWatch for fibers, SignalHook for functions that must run even if
// all workers are stuck.
//
//     SignalWatch watch = WEFT_TRY(SignalWatch::open({SIGTERM, SIGINT}));
//     int signal = WEFT_TRY(watch.wait());
//
// While a signal is watched, Weft handles it; the former handler is restored with the end of the
// last watch. The handler itself only marks the signal and writes a byte to a pipe. The signal
// thread, which is started with the first watch and stays in poll(2) for the life of the process,
// wakes the waiters and calls the hooks. As in the kernel, equal signals that come together may be
// seen as one.
//
// Any fiber and any thread; not in simulation (Unavailable).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft {

// Sees every signal that comes from open() until its end, also between two waits. One waiter at a
// time.
class SignalWatch {
public:
    static Result<SignalWatch> open(std::initializer_list<int> signals);
    SignalWatch(SignalWatch&&) noexcept;
    SignalWatch& operator=(SignalWatch&&) noexcept;
    ~SignalWatch();

    // The next signal, the lowest number first when several have come.
    Result<int> wait(Deadline deadline = Deadline::never());

    struct State;

private:
    explicit SignalWatch(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

// Opens, waits for one, closes. A signal that comes before the call is not seen.
Result<int> wait_for_signal(std::initializer_list<int> signals,
                            Deadline deadline = Deadline::never());

// Whether any watch or hook is open.
bool signals_are_watched();

// Calls a function on the signal thread for each signal; the function must not wait for a signal.
// The destructor waits for a call that is under way, so it must not run in that function.
class SignalHook {
public:
    static Result<SignalHook> open(int signal, std::function<void(int signal)> callback);
    SignalHook(SignalHook&&) noexcept;
    SignalHook& operator=(SignalHook&&) noexcept;
    ~SignalHook();

    // Calls another function on the signal thread, once, at the deadline, if the hook lives until
    // then. A later call replaces it. For what must be done in time even if all workers are stuck.
    void call_at(Deadline deadline, std::function<void()> callback);

    struct State;

private:
    explicit SignalHook(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace weft
