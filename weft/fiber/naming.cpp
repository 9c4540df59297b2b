#include "weft/fiber/naming.h"

#include <map>
#include <memory>
#include <mutex>

#include "weft/base/spin_lock.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/locals.h"

namespace weft {

// ---------------------------------------------------------------- labels

struct FiberLabel::Kept {
    explicit Kept(std::string_view given) : text(readable(given)), label(text) {}

    static std::string readable(std::string_view given) {
        std::size_t end = given.size();
        if (end > kKeptBytesMax) {
            end = kKeptBytesMax;
            // Not within a character of UTF-8.
            while (end > 0 && (static_cast<unsigned char>(given[end]) & 0xC0) == 0x80) --end;
        }
        std::string text(given.substr(0, end));
        for (char& c : text) {
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
        }
        return text;
    }

    const std::string text;
    const FiberLabel label;
};

const FiberLabel* FiberLabel::keep(std::string_view text) {
    struct Table {
        // It contains no step of a simulation; so a run that is abandoned never holds it.
        std::mutex lock;                                  // tidy: allow threads: see above
        std::map<std::string, Kept, std::less<>> labels;  // by the text that was given
    };
    // Never destroyed, because labels are read until the program has ended.
    static Table& table = *std::make_unique<Table>().release();
    std::lock_guard guard(table.lock);
    if (auto found = table.labels.find(text); found != table.labels.end())
        return &found->second.label;
    if (table.labels.size() >= kKeptMax) return nullptr;
    return &table.labels.try_emplace(std::string(text), text).first->second.label;
}

void set_label(const FiberLabel& label) {
    // Inline instead of current(), because a server does this for each request.
    Worker* worker = this_worker();
    Fiber* fiber = worker ? worker->current() : nullptr;
    if (!fiber) return;
    // Relaxed: only the fiber itself changes it. Release: the text of a label that was kept; pairs
    // with the acquire in name_in().
    std::uintptr_t extra = fiber->extra.load(std::memory_order_relaxed);
    if (FiberLocals* locals = locals_in(extra)) [[unlikely]] {
        locals->label.store(&label, std::memory_order_release);
    } else {
        fiber->extra.store(labelled(&label), std::memory_order_release);
    }
}

// ---------------------------------------------------------------- names

std::string_view given_name() {
    Fiber* fiber = current();
    // Relaxed: a fiber's own locals.
    FiberLocals* locals = fiber ? locals_in(fiber->extra.load(std::memory_order_relaxed)) : nullptr;
    return locals ? std::string_view(locals->name) : std::string_view();
}

void NameScope::enter() {
    Fiber* fiber = current();
    // Without memory for the name the label is shown.
    if (!fiber || !try_make_locals(*fiber)) return;
    fiber_ = fiber;
    exchange();
}

void NameScope::exchange() {
    // The dump copies the name under this lock. Relaxed: a fiber's own locals.
    SpinGuard guard(fiber_->park_lock);
    locals_in(fiber_->extra.load(std::memory_order_relaxed))->name.swap(name_);
}

}  // namespace weft
