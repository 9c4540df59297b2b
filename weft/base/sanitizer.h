// What Weft tells the sanitizers, whoever was compiled with them.
//
// A program that is built with a sanitizer may use a libweft that is not: the library then finds
// the sanitizer at run time, by the functions that it brings along (weak symbols, null without it).
// So no class here may change its layout with the build; WEFT_ASAN and WEFT_TSAN say how *this*
// file is compiled, and are for what costs time, never for a member.
//
// The thread sanitizer sees the atomics of code that it was compiled into. Where ours is not,
// Atomic tells it what each access orders; SchedulerAtomic does not, and the scheduler says by hand
// whom it hands what: see acquire() and release().
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif

extern "C" {
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
}

namespace weft::sanitizer {

// Whether there is one in this process that has to know which stack runs. Set before main().
extern bool knows_stacks;
// Whether it is the thread sanitizer.
bool sees_threads();

// Whether the thread sanitizer has to be told what this file does: in the library, where that was
// not compiled with it. An address, so that the compiler asks once where it would be asked often.
[[gnu::always_inline]] inline bool wants_telling() {
#if defined(WEFT_LIBRARY) && !defined(WEFT_TSAN)
    return __tsan_acquire != nullptr;
#else
    return false;
#endif
}

// The calls themselves. On x86_64 by functions that keep every register (tell_x86_64.S): to the
// compiler it is not a call, so that code in which one is possible is no worse for it. The red
// zone, which may be in use, is stepped over.
#if !defined(WEFT_LIBRARY)
inline void tell_acquire(const void*) {}
inline void tell_release(const void*) {}
#elif defined(__x86_64__) && !defined(__ILP32__)
[[gnu::always_inline]] inline void tell_acquire(const void* address) {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"
        "call *weft_tell_acquire@GOTPCREL(%%rip)\n\t"
        "leaq 128(%%rsp), %%rsp" ::"D"(address)
        : "memory", "cc");
}
[[gnu::always_inline]] inline void tell_release(const void* address) {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"
        "call *weft_tell_release@GOTPCREL(%%rip)\n\t"
        "leaq 128(%%rsp), %%rsp" ::"D"(address)
        : "memory", "cc");
}
#else
inline void tell_acquire(const void* address) { __tsan_acquire(const_cast<void*>(address)); }
inline void tell_release(const void* address) { __tsan_release(const_cast<void*>(address)); }
#endif

// What was done before a release() of an address comes before what is done after an acquire() of
// it.
[[gnu::always_inline]] inline void acquire(const void* address) {
    if (wants_telling()) [[unlikely]]
        tell_acquire(address);
}
[[gnu::always_inline]] inline void release(const void* address) {
    if (wants_telling()) [[unlikely]]
        tell_release(address);
}

// The marks of frames that ended without unwinding are wiped off a stack.
void unpoison(void* begin, std::size_t bytes);

}  // namespace weft::sanitizer
