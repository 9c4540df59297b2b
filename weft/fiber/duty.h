// Duty: what spawn_detached() makes of two functions, for its own use.
#pragma once

#include "weft/base/error.h"

namespace weft::fiber_internal {

// A function that must not be lost, with what is done instead where its fiber gets no stack.
template <class Function, class Unstarted>
struct Duty {
    void operator()() { function(); }
    void unstarted(const Error& error) { otherwise(error); }

    Function function;
    Unstarted otherwise;
};
template <class Function, class Unstarted>
Duty(Function, Unstarted) -> Duty<Function, Unstarted>;

}  // namespace weft::fiber_internal
