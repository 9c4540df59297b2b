#include "weft/fiber/switch/thread_state.h"

#include <cxxabi.h>

#include "weft/fiber/schedule/worker.h"

namespace weft {

ExceptionState* ExceptionState::of_this_thread() {
    return reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

ThreadState ThreadState::save() { return {this_worker(), *ExceptionState::of_this_thread()}; }

void ThreadState::restore() const {
    weft_this_worker = worker;
    *ExceptionState::of_this_thread() = exceptions;
}

}  // namespace weft
