// System calls without the C library.
//
// The library's functions for calls that may block are cancellation points of pthreads: in a
// process with threads each costs two more locked operations, which are of no use here. And they
// leave the error in errno, which belongs to a thread. system_call() returns the result or -errno,
// and does nothing else. A sanitizer knows only of the library's functions what memory they read
// and write; so under one these are called: see retry_interrupted(). Any thread.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>

#include "weft/base/sanitizer.h"

namespace weft {

// Whether a sanitizer needs the library's functions to be called instead.
inline bool uses_library_calls() { return sanitizer::knows_stacks; }

namespace system_call_internal {

template <class T>
long as_word(T argument) {
    static_assert(sizeof(T) <= sizeof(long));
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<long>(argument);
    } else if constexpr (std::is_null_pointer_v<T>) {
        return 0;
    } else {
        return static_cast<long>(argument);
    }
}

[[gnu::always_inline]] inline long call(long number, long a, long b = 0, long c = 0, long d = 0,
                                        long e = 0, long f = 0) {
#if defined(__x86_64__) && !defined(__ILP32__)
    long result;
    register long fourth asm("r10") = d;
    register long fifth asm("r8") = e;
    register long sixth asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long which asm("x8") = number;
    register long first asm("x0") = a;
    register long second asm("x1") = b;
    register long third asm("x2") = c;
    register long fourth asm("x3") = d;
    register long fifth asm("x4") = e;
    register long sixth asm("x5") = f;
    asm volatile("svc 0"
                 : "+r"(first)
                 : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "memory");
    return first;
#elif defined(__riscv)
    register long which asm("a7") = number;
    register long first asm("a0") = a;
    register long second asm("a1") = b;
    register long third asm("a2") = c;
    register long fourth asm("a3") = d;
    register long fifth asm("a4") = e;
    register long sixth asm("a5") = f;
    asm volatile("ecall"
                 : "+r"(first)
                 : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "memory");
    return first;
#else
    long result = ::syscall(number, a, b, c, d, e, f);
    return result < 0 ? -errno : result;
#endif
}

}  // namespace system_call_internal

// At most six arguments: numbers and pointers.
template <class... Arguments>
[[gnu::always_inline]] inline long system_call(long number, Arguments... arguments) {
    static_assert(sizeof...(Arguments) >= 1 && sizeof...(Arguments) <= 6);
    return system_call_internal::call(number, system_call_internal::as_word(arguments)...);
}

// Repeats a call that a signal interrupts. `library` calls the library's function, `direct` does
// the same by system_call(). Returns a count or -errno. The calling function must not be inlined,
// because of errno: its own caller may wait, and resume on another thread.
template <class Library, class Direct>
[[gnu::always_inline]] inline long retry_interrupted(Library library, Direct direct) {
    for (;;) {
        long result = 0;
        if (uses_library_calls()) [[unlikely]] {
            result = library();
            if (result < 0) result = -errno;
        } else {
            result = direct();
        }
        if (result != -EINTR) [[likely]]
            return result;
    }
}

}  // namespace weft
