// For death tests: functions that use up the address space of the process.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace weft::testing {

// Called before threads start. Otherwise malloc gives each of them 128 MiB of address space, and
// returns most of it while the limit is measured.
inline void use_one_heap() { ::mallopt(M_ARENA_MAX, 1); }

// Makes the heap keep so many free bytes, so that later a stack is refused and not a string.
inline void fill_heap(std::size_t bytes) {
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    std::free(std::malloc(bytes));
}

// Limits the process to its present address space and `more` bytes.
inline void limit_address_space(std::size_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * 4096 + more;
    setrlimit(RLIMIT_AS, &limit);
}

inline void lift_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

// Ends a death test with this text on stderr.
[[noreturn]] inline void end_with(const std::string& verdict) {
    static_cast<void>(!write(2, verdict.data(), verdict.size()));
    _exit(0);
}

}  // namespace weft::testing
