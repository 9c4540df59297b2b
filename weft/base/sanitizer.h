// What Weft reports to the sanitizers, whether the library, the program or both are compiled with
// them.
//
// A program that is built with a sanitizer may use a libweft that is not: the library then finds
// the sanitizer at run time, by its functions (weak symbols, null without it). So no class may
// change its layout with the build: WEFT_ASAN and WEFT_TSAN say how the file that includes this is
// compiled; use them to leave out code that costs time, never for a member.
//
// The thread sanitizer sees the atomics of code that was compiled with it. In other code Atomic
// reports what each access orders. SchedulerAtomic does not; the scheduler calls acquire() and
// release() itself wherever it hands memory from one thread or fiber to another.
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

// Whether this process has a sanitizer that must be told of each stack switch. Set before main().
extern bool knows_stacks;
// Whether this process has the thread sanitizer.
bool has_tsan();

// Whether the thread sanitizer needs reports from this code: code of the library that was compiled
// without it. The test is of an address, so that the compiler can share it among nearby calls.
[[gnu::always_inline]] inline bool must_report() {
#if defined(WEFT_LIBRARY) && !defined(WEFT_TSAN)
    return __tsan_acquire != nullptr;
#else
    return false;
#endif
}

// The calls themselves. On x86_64 they go to functions that preserve every register, in
// sanitizer_x86_64.S. The compiler sees no call, so it keeps values in registers across it. The
// stack pointer is first moved below the red zone, which the surrounding function may be using.
#if !defined(WEFT_LIBRARY)
inline void report_acquire(const void*) {}
inline void report_release(const void*) {}
#elif defined(__x86_64__) && !defined(__ILP32__)
[[gnu::always_inline]] inline void report_acquire(const void* address) {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"
        "call *weft_report_acquire@GOTPCREL(%%rip)\n\t"
        "leaq 128(%%rsp), %%rsp" ::"D"(address)
        : "memory", "cc");
}
[[gnu::always_inline]] inline void report_release(const void* address) {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"
        "call *weft_report_release@GOTPCREL(%%rip)\n\t"
        "leaq 128(%%rsp), %%rsp" ::"D"(address)
        : "memory", "cc");
}
#else
inline void report_acquire(const void* address) { __tsan_acquire(const_cast<void*>(address)); }
inline void report_release(const void* address) { __tsan_release(const_cast<void*>(address)); }
#endif

// What happened before a release() of an address happens before what follows an acquire() of it.
[[gnu::always_inline]] inline void acquire(const void* address) {
    if (must_report()) [[unlikely]]
        report_acquire(address);
}
[[gnu::always_inline]] inline void release(const void* address) {
    if (must_report()) [[unlikely]]
        report_release(address);
}

// Clears the address sanitizer's marks of frames that ended without unwinding.
void unpoison(void* begin, std::size_t bytes);

}  // namespace weft::sanitizer
