#include "weft/fiber/local.h"

#include <new>

#include "weft/base/assert.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/locals.h"

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

// Replaces the label in Fiber::extra by the locals, which take the label over.
FiberLocals& give_locals(Fiber& fiber, std::unique_ptr<FiberLocals> made) {
    FiberLocals& locals = *made.release();
    // Relaxed: the fiber's own label; others read both words under the lock.
    std::uintptr_t extra = fiber.extra.load(std::memory_order_relaxed);
    WEFT_DASSERT(!locals_in(extra), "a fiber is given locals once");
    const FiberLabel* label = label_in(extra);
    locals.label.store(label, std::memory_order_relaxed);
    SpinGuard guard(fiber.park_lock);
    fiber.extra.store(reinterpret_cast<std::uintptr_t>(&locals), std::memory_order_relaxed);
    return locals;
}

}  // namespace

std::unique_ptr<FiberLocals> make_locals(std::string_view name, const FiberLabel* label) {
    try {
        auto locals = std::make_unique<FiberLocals>();
        locals->name = name;
        // Relaxed: published with the locals.
        locals->label.store(label, std::memory_order_relaxed);
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
    if (FiberLocals* locals = locals_in(fiber->extra.load(std::memory_order_relaxed)))
        return *locals;
    return give_locals(*fiber, std::make_unique<FiberLocals>());
}

bool try_make_locals(Fiber& fiber) {
    // Relaxed: a fiber's own locals.
    if (locals_in(fiber.extra.load(std::memory_order_relaxed))) return true;
    std::unique_ptr<FiberLocals> made = make_locals({}, nullptr);
    if (!made) return false;
    give_locals(fiber, std::move(made));
    return true;
}

std::string_view name_in(const Fiber& fiber) {
    // Acquire: the text of a label that was kept; pairs with the release in set_label().
    std::uintptr_t extra = fiber.extra.load(std::memory_order_acquire);
    const FiberLabel* label = nullptr;
    if (const FiberLocals* locals = locals_in(extra)) {
        if (!locals->name.empty()) return locals->name;
        label = locals->label.load(std::memory_order_acquire);
    } else {
        label = label_in(extra);
    }
    return label ? label->text() : std::string_view();
}

std::string name_of(Fiber& fiber) {
    // The lock keeps the locals alive: a fiber that ends takes it before it destroys them.
    SpinGuard guard(fiber.park_lock);
    return std::string(name_in(fiber));
}

void end_locals(Fiber& fiber) {
    // Relaxed: a fiber's own locals.
    FiberLocals* locals = locals_in(fiber.extra.load(std::memory_order_relaxed));
    if (!locals) return;
    if (locals->name.empty()) return destroy_locals(fiber);
    destroy_entries(*locals);
}

void destroy_locals(Fiber& fiber) {
    // Relaxed: as above; the dump takes the lock.
    std::unique_ptr<FiberLocals> locals(locals_in(fiber.extra.load(std::memory_order_relaxed)));
    if (!locals) return;
    destroy_entries(*locals);
    std::uintptr_t label = labelled(locals->label.load(std::memory_order_relaxed));
    SpinGuard guard(fiber.park_lock);
    // Release: as in set_label(), for the next reader of the label.
    fiber.extra.store(label, std::memory_order_release);
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
