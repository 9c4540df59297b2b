// For death tests: a process whose address space is used up.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace weft::testing {

// Before threads start. Else malloc gives each of them 128 MiB of addresses and takes most of it
// back while the limit is measured.
inline void use_one_heap() { ::mallopt(M_ARENA_MAX, 1); }

// The heap keeps so much in hand: what is refused later is not a string.
inline void fill_heap(std::size_t bytes) {
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    std::free(std::malloc(bytes));
}

// The process may map so much more than it has now.
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

// The last word of a death test.
[[noreturn]] inline void end_with(const std::string& verdict) {
    static_cast<void>(!write(2, verdict.data(), verdict.size()));
    _exit(0);
}

}  // namespace weft::testing
