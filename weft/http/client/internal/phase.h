// The phases of a client's request, and the text of an error that ends one. Any fiber.
#pragma once

#include <string_view>

#include "weft/base/error.h"
#include "weft/base/time.h"

namespace weft::http {

struct Phase {
    std::string_view doing;       // "read the head of the response"
    Nanoseconds time{};           // its time limit; 0: none of its own
    std::string_view limit = {};  // the name of that limit; empty: none of its own
};

// The time limit of a request with all its phases.
struct WholeTime {
    Deadline deadline = Deadline::never();
    Nanoseconds time{};  // ClientTimeouts::total
};

// The error with the phase as its context. A TimedOut names the limit that was exceeded and its
// length: that of the phase, or that of the whole request. If the caller's own context has ended,
// only the phase is named.
Error in_phase(const Error& error, const Phase& phase, const WholeTime& whole);
// The same for an error whose text names the phase already, unless it is TimedOut.
Error in_named_phase(const Error& error, const Phase& phase, const WholeTime& whole);

}  // namespace weft::http
