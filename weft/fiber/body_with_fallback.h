// BodyWithFallback: the body of a fiber, and what is called instead if it gets no stack. Made by
// spawn_detached().
#pragma once

#include "weft/base/error.h"

namespace weft::fiber_internal {

// Exactly one of the two functions is called, once.
template <class Function, class Unstarted>
struct BodyWithFallback {
    void operator()() { function(); }
    void unstarted(const Error& error) { fallback(error); }

    Function function;
    Unstarted fallback;
};
template <class Function, class Unstarted>
BodyWithFallback(Function, Unstarted) -> BodyWithFallback<Function, Unstarted>;

}  // namespace weft::fiber_internal
