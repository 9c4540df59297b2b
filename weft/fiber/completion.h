// Completion: something to be done by a certain worker, posted from anywhere (Runtime::post).
#pragma once

namespace weft {

// Whoever posts it keeps it alive until it has run. It runs exactly once, on its worker, in the
// worker's loop: it must not wait. Records of one sender run in the order in which they were
// posted.
struct Completion {
    Completion* next = nullptr;  // the inbox's
    void (*run)(Completion& completion) = nullptr;
};

}  // namespace weft
