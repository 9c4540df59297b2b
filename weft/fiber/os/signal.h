// Signals of the process, for fibers and for functions that must run whatever the workers do.
//
//     SignalWatch watch = WEFT_TRY(SignalWatch::open({SIGTERM, SIGINT}));
//     int signal = WEFT_TRY(watch.wait());
//
// While somebody watches a signal, it belongs to Weft: its former handler comes back with the last
// watch. The handler itself only marks the signal and writes a byte; a thread that is started with
// the first watch, and sleeps in poll(2) ever after, wakes the waiters and calls the hooks. Like
// the kernel's own, equal signals that come together may be seen as one.
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

// Calls a function on the signal thread for each signal; it must not wait for a signal itself. The
// destructor, not to be called in that function, waits out a call that is under way.
class SignalHook {
public:
    static Result<SignalHook> open(int signal, std::function<void(int signal)> callback);
    SignalHook(SignalHook&&) noexcept;
    SignalHook& operator=(SignalHook&&) noexcept;
    ~SignalHook();

    // Calls another function there once, at the deadline, if the hook lives until then. Again: only
    // the last one counts. For what must be done in time when no worker may do anything any more.
    void call_at(Deadline deadline, std::function<void()> callback);

    struct State;

private:
    explicit SignalHook(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace weft
