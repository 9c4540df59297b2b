// Completion: something to be done by a certain worker, posted from anywhere (Runtime::post).
#pragma once

namespace weft {

// The poster keeps it alive until it has run. It runs exactly once, in the loop of its worker and
// on the thread's own stack, never on a fiber's: it must not wait. While fibers keep the worker
// busy, records run between two turns. Records of one sender run in the order in which they were
// posted.
struct Completion {
    Completion* next = nullptr;  // belongs to the inbox until it runs
    void (*run)(Completion& completion) = nullptr;
};

}  // namespace weft
