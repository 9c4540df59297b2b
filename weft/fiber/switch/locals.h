// FiberLocals: what a fiber has beyond its block: a name and its fiber-locals. Allocated at first
// use.
//
// Fiber::extra is the address of the locals; or, with the bit kLabelled, that of the label or null.
// So a label costs neither room in the block nor an allocation. Only the fiber itself, its spawner
// and the worker that ends it change the word; others read it under park_lock, which keeps the
// locals alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/naming.h"
#include "weft/fiber/switch/fiber_block.h"

namespace weft {

struct FiberLocals {
    struct Entry {
        const void* key;  // the address of the FiberLocal
        void* value;
        void (*destroy)(void* value);
    };
    std::string name;  // the given name; changed under park_lock
    Atomic<const FiberLabel*> label{nullptr};
    std::vector<Entry> entries;
};

static_assert(alignof(FiberLabel) > Fiber::kLabelled && alignof(FiberLocals) > Fiber::kLabelled);

inline std::uintptr_t labelled(const FiberLabel* label) {
    return reinterpret_cast<std::uintptr_t>(label) | Fiber::kLabelled;
}
// Null if the word has a label.
inline FiberLocals* locals_in(std::uintptr_t extra) {
    return extra & Fiber::kLabelled ? nullptr : reinterpret_cast<FiberLocals*>(extra);
}
// Null if there is none, or if the word has locals.
inline const FiberLabel* label_in(std::uintptr_t extra) {
    if (!(extra & Fiber::kLabelled)) return nullptr;
    return reinterpret_cast<const FiberLabel*>(extra & ~Fiber::kLabelled);
}
// What the fiber is called; empty for an unnamed one. On the fiber's own thread, or under
// park_lock. Allocates nothing: the signal handler for stack overflows calls it.
std::string_view name_in(const Fiber& fiber);
// Any thread: the name at this moment.
std::string name_of(Fiber& fiber);

// Null when memory is short.
std::unique_ptr<FiberLocals> make_locals(std::string_view name, const FiberLabel* label);
// On the fiber itself: makes sure that it has locals. False when memory is short.
bool try_make_locals(Fiber& fiber);
// The locals of the running fiber, made at first use; on a plain thread those of the thread.
FiberLocals& current_locals();
// On the fiber itself, when its body has ended: destroys the fiber-locals, newest first. A given
// name stays until the block is given back, for the report of an outcome that nobody takes.
void end_locals(Fiber& fiber);
// By the last user of the block.
void destroy_locals(Fiber& fiber);

}  // namespace weft
