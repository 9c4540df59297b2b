// What a fiber has beyond its block: a name and its fiber-locals. Allocated at first use.
//
// Fiber::extra is the address of the locals, or else that of the label, or of none, with kLabelled
// added. So a label costs neither room in the block nor an allocation. Only the fiber itself, and
// who prepares or ends it, changes the word; others read it under park_lock, which keeps the locals
// alive.
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
    std::string name;  // that was given; changed under park_lock
    Atomic<const FiberLabel*> label{nullptr};
    std::vector<Entry> entries;
};

static_assert(alignof(FiberLabel) > Fiber::kLabelled && alignof(FiberLocals) > Fiber::kLabelled);

inline std::uintptr_t labelled(const FiberLabel* label) {
    return reinterpret_cast<std::uintptr_t>(label) | Fiber::kLabelled;
}
// Null where the word has a label.
inline FiberLocals* locals_in(std::uintptr_t extra) {
    return extra & Fiber::kLabelled ? nullptr : reinterpret_cast<FiberLocals*>(extra);
}
// Null where there is none, or where the word has locals.
inline const FiberLabel* label_in(std::uintptr_t extra) {
    if (!(extra & Fiber::kLabelled)) return nullptr;
    return reinterpret_cast<const FiberLabel*>(extra & ~Fiber::kLabelled);
}
// What the fiber is called; empty for an unnamed one. On the fiber's own thread, or under
// park_lock. Nothing is allocated: the handler of an overflow calls it.
std::string_view name_in(const Fiber& fiber);
// Any thread: a moment's name.
std::string name_of(Fiber& fiber);

// Null when memory is short.
std::unique_ptr<FiberLocals> make_locals(std::string_view name, const FiberLabel* label);
// On the fiber itself: has them made at first use. False when memory is short.
bool try_make_locals(Fiber& fiber);
// The locals of the fiber that runs, made at first use; those of the thread off a fiber.
FiberLocals& current_locals();
// On the fiber itself, when its body has ended: newest first. A name that was given stays until the
// block is given back, for who reports an outcome that nobody has taken.
void end_locals(Fiber& fiber);
// By the last who has the block.
void destroy_locals(Fiber& fiber);

}  // namespace weft
