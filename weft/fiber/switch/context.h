// SavedContext: a saved point of execution on its own stack, and the switch between two of them.
//
// The switch saves the callee-saved registers on the stack it leaves and nothing else; the
// scheduler (schedule/worker_inline.h) exchanges floating-point control state and exception
// globals. A context is resumed by one thread at a time; the thread may differ from one resume to
// the next. Scheduler only.
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

    // Prepares `entry(argument)` on `stack`; entry must never return. `sanitizer_fiber` is the
    // result of new_sanitizer_fiber() for this stack.
    void prepare(StackBounds stack, void (*entry)(void*), void* argument, void* sanitizer_fiber);

    enum class Leave { ToReturn, ForEver };
    // Leaves `from` and goes on in `to`. Returns when another context switches back to `from`.
    // `from` may be a new object: then it stands for the thread's own stack, on which this runs.
    static void change(SavedContext& from, SavedContext& to, Leave leave = Leave::ToReturn);
    // Must be the first call of the entry of a prepared context.
    static void entered();

    // The saved stack pointer of a context that is not running; for backtraces.
    void* saved_stack_pointer() const {
        return sanitizer::knows_stacks ? seen_stack_pointer() : stack_pointer_;
    }

    // The thread sanitizer's object for a stack; null without it. Costly, so it is kept with the
    // stack.
    static void* new_sanitizer_fiber();
    static void delete_sanitizer_fiber(void* fiber);

private:
    struct Seen;

    static void change_seen(SavedContext& from, SavedContext& to, Leave leave);
    static void arrive(void* fake_stack);
    void* seen_stack_pointer() const;

    // Under a sanitizer that knows stacks this is the address of a Seen on the stack that was left,
    // which holds the stack pointer and what the sanitizer has to be told at a switch.
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
