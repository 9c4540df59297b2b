// What an error of a phase is told as.
#pragma once

#include <string_view>

#include "weft/base/error.h"
#include "weft/base/time.h"

namespace weft::http {

struct Phase {
    std::string_view doing;       // "read the head of the response"
    Nanoseconds time{};           // that it has; 0: none of its own
    std::string_view limit = {};  // the name of that time
};

// Of a request with all its phases.
struct WholeTime {
    Deadline deadline = Deadline::never();
    Nanoseconds time{};  // ClientTimeouts::total
};

// The error and the phase. A time that ran out says which one it was and how long it is: that of
// the phase, or that of the whole request. What the caller's own context ended says the phase
// alone.
Error in_phase(const Error& error, const Phase& phase, const WholeTime& whole);
// The same for an error whose text says the phase already, unless it is a time that ran out.
Error in_told_phase(const Error& error, const Phase& phase, const WholeTime& whole);

}  // namespace weft::http
