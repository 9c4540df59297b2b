// The frames of a fiber that does not run, innermost first; empty where libunwind is not built in.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct Fiber;

// The caller holds the fiber back (see dump.cpp).
std::vector<std::string> backtrace_of(Fiber& fiber);

}  // namespace weft
