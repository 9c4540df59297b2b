// What a fiber has beyond its block: a name and its fiber-locals. Allocated at first use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fiber/internal/fiber_block.h"

namespace weft {

struct FiberLocals {
    struct Entry {
        const void* key;  // the address of the FiberLocal
        void* value;
        void (*destroy)(void* value);
    };
    std::string name;
    std::vector<Entry> entries;
};

// Null when memory is short.
std::unique_ptr<FiberLocals> make_locals(std::string_view name);
// The locals of the fiber that runs, made at first use; those of the thread off a fiber.
FiberLocals& current_locals();
// Any thread: a moment's name; empty for an unnamed one.
std::string name_of(Fiber& fiber);
// On the fiber itself, when its body has ended: newest first.
void destroy_locals(Fiber& fiber);

}  // namespace weft
