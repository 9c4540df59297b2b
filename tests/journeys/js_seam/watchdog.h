// Ends a dispatch that runs too long, and never the next one.
//
// One word says which dispatch runs. The watchdog's thread looks at it every now and then; when it
// has seen the same dispatch for too long it moves the word from Running to Condemned, which only
// one of the two can do, ends the execution and says so. The dispatch that finds itself condemned
// at its end waits for that, and takes the termination back.
#pragma once

#include <v8.h>

#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/time.h"

namespace weft::journeys {

class Watchdog {
public:
    Watchdog(v8::Isolate& isolate, Nanoseconds limit);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // The owner of the isolate, around each dispatch.
    void begin();
    // True when the dispatch was ended by force; the isolate is good for the next one.
    [[nodiscard]] bool end();

private:
    static constexpr int kLooks = 5;  // in the time that a dispatch may take
    enum State : std::uint64_t { Idle, Running, Condemned, Ended };
    static constexpr unsigned kStateBits = 2;
    static constexpr std::uint64_t kStateMask = (1U << kStateBits) - 1;

    static void thread_main(void* self);
    void look_around();
    void end_by_force(std::uint64_t running);

    v8::Isolate& isolate_;
    const Nanoseconds limit_;
    std::uint64_t dispatch_ = 0;     // the owner's count
    Atomic<std::uint64_t> word_{0};  // dispatch << kStateBits | state
    Atomic<std::uint32_t> over_{0};
    EnvThread thread_;
};

}  // namespace weft::journeys
