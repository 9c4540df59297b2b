// SavedContext: a saved point of execution on its own stack, and the switch between two of them.
//
// The switch saves the callee-saved registers on the stack it leaves and nothing else;
// floating-point control state, exception globals and thread-locals are the scheduler's business
// (fiber/worker). A context is resumed by one thread at a time; the thread may differ from one
// resume to the next.
#pragma once

#include <cstddef>

#include "weft/base/sanitizer.h"
#include "weft/fiber/internal/context_switch.h"

namespace weft {

// The bytes [bottom, top) that a context runs on.
struct StackBounds {
    std::byte* bottom = nullptr;
    std::byte* top = nullptr;
};

class SavedContext {
public:
    SavedContext() = default;
    SavedContext(const SavedContext&) = delete;
    SavedContext& operator=(const SavedContext&) = delete;

    // Makes this the context of the calling thread's own stack; it gets its state when it is left.
    void adopt_thread();
    // Prepares `entry(argument)` on `stack`; entry must never return. `sanitizer_fiber` is what
    // new_sanitizer_fiber() gave for this stack.
    void prepare(StackBounds stack, void (*entry)(void*), void* argument, void* sanitizer_fiber);

    enum class Leave { ToReturn, ForEver };
    // Leaves `from` and goes on in `to`. Returns when somebody switches back to `from`.
    static void change(SavedContext& from, SavedContext& to, Leave leave = Leave::ToReturn);
    // The first thing that runs on a freshly prepared context.
    static void entered();

    // The saved stack pointer of a context that is not running; for backtraces.
    void* saved_stack_pointer() const { return stack_pointer_; }

    // The thread sanitizer's view of a stack; null in other builds. Costly, so kept with the stack.
    static void* new_sanitizer_fiber();
    static void delete_sanitizer_fiber(void* fiber);

private:
    void* stack_pointer_ = nullptr;
#ifdef WEFT_ASAN
    void* fake_stack_ = nullptr;
    const void* stack_bottom_ = nullptr;
    std::size_t stack_bytes_ = 0;
#endif
#ifdef WEFT_TSAN
    void* sanitizer_fiber_ = nullptr;
#endif
};

}  // namespace weft

#if !defined(WEFT_ASAN) && !defined(WEFT_TSAN)
inline void weft::SavedContext::change(SavedContext& from, SavedContext& to, Leave) {
    weft_context_switch(&from.stack_pointer_, to.stack_pointer_);
}
inline void weft::SavedContext::entered() {}
#endif
