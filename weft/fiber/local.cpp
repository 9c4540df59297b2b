#include "weft/fiber/local.h"

#include <new>

#include "weft/base/assert.h"
#include "weft/fiber/internal/locals.h"
#include "weft/fiber/internal/worker.h"

namespace weft {
namespace {

void destroy_entries(FiberLocals& locals) {
    // A destructor may make new locals; those are destroyed as well.
    while (!locals.entries.empty()) {
        FiberLocals::Entry entry = locals.entries.back();
        locals.entries.pop_back();
        entry.destroy(entry.value);
    }
}

struct ThreadLocals {
    FiberLocals locals;
    ~ThreadLocals() { destroy_entries(locals); }
};
thread_local ThreadLocals thread_locals;  // tidy: allow thread_local: plain threads only

}  // namespace

std::unique_ptr<FiberLocals> make_locals(std::string_view name) {
    try {
        auto locals = std::make_unique<FiberLocals>();
        locals->name = name;
        return locals;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

FiberLocals& current_locals() {
    Worker* worker = this_worker();
    if (!worker) return thread_locals.locals;
    Fiber* fiber = worker->current();
    WEFT_ASSERT(fiber, "the scheduler has no locals");
    // Relaxed: a fiber's own locals.
    FiberLocals* locals = fiber->locals.load(std::memory_order_relaxed);
    if (!locals) {
        locals = std::make_unique<FiberLocals>().release();
        SpinGuard guard(fiber->park_lock);
        fiber->locals.store(locals, std::memory_order_relaxed);
    }
    return *locals;
}

std::string name_of(Fiber& fiber) {
    // The lock keeps the locals alive: a fiber that ends takes it before it destroys them.
    SpinGuard guard(fiber.park_lock);
    FiberLocals* locals = fiber.locals.load(std::memory_order_relaxed);
    return locals ? locals->name : std::string();
}

void destroy_locals(Fiber& fiber) {
    // Relaxed: as above; the dump takes the lock.
    std::unique_ptr<FiberLocals> locals(fiber.locals.load(std::memory_order_relaxed));
    if (!locals) return;
    destroy_entries(*locals);
    SpinGuard guard(fiber.park_lock);
    fiber.locals.store(nullptr, std::memory_order_relaxed);
}

namespace fiber_locals {

void* find(const void* key) {
    for (const FiberLocals::Entry& entry : current_locals().entries) {
        if (entry.key == key) return entry.value;
    }
    return nullptr;
}

void add(const void* key, void* value, void (*destroy)(void* value)) {
    current_locals().entries.push_back({key, value, destroy});
}

}  // namespace fiber_locals
}  // namespace weft
