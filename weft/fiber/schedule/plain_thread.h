// Plain threads: those of the program, and those of the runtime that are not workers. Any thread.
#pragma once

namespace weft {

// Calls a function that needs more stack than a fiber or a simulated thread may have, such as the
// reader of debug information: directly on a plain thread, elsewhere on a new thread, which it
// joins. False when no thread could be started.
bool call_on_plain_thread(void (*function)(void* argument), void* argument);

// Marks the calling thread as one that the runtime has started, not the program.
void mark_own_thread();
bool is_own_thread();

// How many plain threads wait for a fiber to end; a JoiningThread counts the calling one.
unsigned joining_threads();
struct JoiningThread {
    JoiningThread();
    ~JoiningThread();
    JoiningThread(const JoiningThread&) = delete;
    JoiningThread& operator=(const JoiningThread&) = delete;
};

}  // namespace weft
