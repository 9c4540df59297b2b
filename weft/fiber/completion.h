// Completion: something to be done by a certain worker, posted from anywhere (Runtime::post).
#pragma once

namespace weft {

// Whoever posts it keeps it alive until it has run. It runs exactly once, on its worker, in the
// worker's loop and on the thread's own stack, never on a fiber's: it must not wait. Fibers that
// keep the worker busy make room for it after a turn. Records of one sender run in the order in
// which they were posted.
struct Completion {
    Completion* next = nullptr;  // the inbox's
    void (*run)(Completion& completion) = nullptr;
};

}  // namespace weft
