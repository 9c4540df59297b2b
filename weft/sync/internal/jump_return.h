// WEFT_RETURN_BY_JUMP marks a function that contains a context switch: it may return in another
// fiber than the one that called it last. The processor predicts a return from the last call that
// it has seen, so each such return is mispredicted: measured, 9 ns a switch on an x86_64 of 2.6
// GHz, a third of the cost of handing an item over. An indirect jump to the return address is
// predicted by the history of that jump instead, which is mostly right.
// The thunk that the compiler then jumps to is in wait_queue.cpp.
#pragma once

#if defined(__x86_64__) && !defined(__ILP32__)
#define WEFT_RETURN_BY_JUMP [[gnu::function_return("thunk-extern")]]
#else
#define WEFT_RETURN_BY_JUMP
#endif
