// Plain threads: those of the program and our own beside the workers.
#pragma once

namespace weft {

// For what needs more stack than a fiber or a simulated thread may have, such as reading debug
// information: calls it here on a plain thread, elsewhere on a new one, which is waited for. False
// when there was no such thread to be had.
bool call_on_plain_thread(void (*function)(void* argument), void* argument);

// A thread that the runtime itself has made, not the program; says so of the calling one.
void mark_own_thread();
bool is_own_thread();

// How many plain threads wait for a fiber to end.
unsigned joining_threads();
struct JoiningThread {
    JoiningThread();
    ~JoiningThread();
    JoiningThread(const JoiningThread&) = delete;
    JoiningThread& operator=(const JoiningThread&) = delete;
};

}  // namespace weft
