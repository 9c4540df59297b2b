// A clock for programs under an emulator, loaded before the C library: it goes slower by as much as
// they do. What a server decides by time, such as when to look at its descriptors, it then decides
// as it would alone. SLOWNESS says by how much.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

constexpr long kSecondNs = 1'000'000'000;

// Straight to the kernel, so that all of it lies in this object, which is not counted.
long read_clock(clockid_t clock) {
    timespec time{};
    long status = 0;
    asm volatile("syscall"
                 : "=a"(status)
                 : "a"(SYS_clock_gettime), "D"(clock), "S"(&time)
                 : "rcx", "r11", "memory");
    return time.tv_sec * kSecondNs + time.tv_nsec;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    static const long slowness = std::strtol(std::getenv("SLOWNESS"), nullptr, 10);
    static const long begun = read_clock(CLOCK_MONOTONIC);
    long now = read_clock(clock);
    if (clock == CLOCK_MONOTONIC) now = begun + (now - begun) / slowness;
    // The processor time of a thread, by which JavaScript is ended that computes too long.
    if (clock < 0) now /= slowness;
    time->tv_sec = now / kSecondNs;
    time->tv_nsec = now % kSecondNs;
    return 0;
}
