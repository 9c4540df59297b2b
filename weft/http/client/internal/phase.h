// What an error of a phase is told as.
#pragma once

#include <string_view>

#include "weft/base/error.h"
#include "weft/base/time.h"

namespace weft::http {

// A time that ran out says which one it was: that of the phase, or that of the whole request. What
// the caller's own context ended is passed unchanged, as is everything else.
Error in_phase(const Error& error, std::string_view phase, Deadline total);

}  // namespace weft::http
