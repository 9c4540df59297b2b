#include "weft/base/sanitizer.h"

extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom,
                                                  std::size_t bytes);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __asan_unpoison_memory_region(void const volatile* begin, std::size_t bytes);
}

namespace weft::sanitizer {

constinit bool knows_stacks = false;  // tidy: allow global: a fact about the process

bool has_tsan() { return __tsan_switch_to_fiber != nullptr; }

void unpoison(void* begin, std::size_t bytes) {
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(begin, bytes);
}

// Runs early, because constructors of static objects may already run fibers.
[[gnu::constructor(101)]] static void detect_sanitizers() {
    knows_stacks = __sanitizer_start_switch_fiber || __tsan_switch_to_fiber;
}

}  // namespace weft::sanitizer
