// SavedContext: a saved point of execution on its own stack, and the switch between two of them.
//
// The switch saves the callee-saved registers on the stack it leaves and nothing else;
// floating-point control state, exception globals and thread-locals are the scheduler's business
// (schedule/worker). A context is resumed by one thread at a time; the thread may differ from one
// resume to the next.
#pragma once

#include <cstddef>

#include "weft/base/sanitizer.h"
#include "weft/fiber/switch/context_switch.h"

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

    // Prepares `entry(argument)` on `stack`; entry must never return. `sanitizer_fiber` is what
    // new_sanitizer_fiber() gave for this stack.
    void prepare(StackBounds stack, void (*entry)(void*), void* argument, void* sanitizer_fiber);

    enum class Leave { ToReturn, ForEver };
    // Leaves `from`, which may be new: then it stands for whatever runs here, a thread's own stack.
    // Goes on in `to`. Returns when somebody switches back to `from`.
    static void change(SavedContext& from, SavedContext& to, Leave leave = Leave::ToReturn);
    // The first thing that runs on a freshly prepared context.
    static void entered();

    // The saved stack pointer of a context that is not running; for backtraces.
    void* saved_stack_pointer() const {
        return sanitizer::knows_stacks ? seen_stack_pointer() : stack_pointer_;
    }

    // The thread sanitizer's view of a stack; null without it. Costly, so kept with the stack.
    static void* new_sanitizer_fiber();
    static void delete_sanitizer_fiber(void* fiber);

private:
    struct Seen;

    static void change_seen(SavedContext& from, SavedContext& to, Leave leave);
    static void arrive(void* fake_stack);
    void* seen_stack_pointer() const;

    // Where a sanitizer knows of stacks, this is the address of a Seen on the stack that was left,
    // which holds the stack pointer and what the sanitizer has to be told.
    void* stack_pointer_ = nullptr;
};

}  // namespace weft

inline void weft::SavedContext::change(SavedContext& from, SavedContext& to, Leave leave) {
    if (sanitizer::knows_stacks) [[unlikely]]
        return change_seen(from, to, leave);
    weft_context_switch(&from.stack_pointer_, to.stack_pointer_);
}
inline void weft::SavedContext::entered() {
    if (sanitizer::knows_stacks) [[unlikely]]
        arrive(nullptr);
}
