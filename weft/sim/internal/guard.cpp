// tidy: allow-file threads: it stands in for the calls that it watches
// tidy: allow-file random: as above
// tidy: allow-file clock: as above
// tidy: allow-file sleep: as above
#include "weft/sim/internal/guard.h"

#include <dlfcn.h>       // tidy: allow foreign: the original functions
#include <pthread.h>     // tidy: allow foreign: as above
#include <sys/random.h>  // tidy: allow foreign: as above
#include <sys/time.h>    // tidy: allow foreign: as above
#include <time.h>        // tidy: allow foreign: as above
#include <unistd.h>      // tidy: allow foreign: as above

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/base/env.h"
#include "weft/base/sanitizer.h"
#include "weft/sim/internal/machine.h"

namespace weft::sim {
namespace {

// Libraries whose calls are passed on: those of Weft and of the system, and OpenSSL, whose
// randomness is no event of a trace.
constexpr std::array kTrusted = {"libweft",  "libcrypto", "libssl", "libcares", "libc.so",
                                 "ld-linux", "libunwind", "libdw",  "libelf",   "libgcc"};
bool is_trusted(const void* caller) {
    Dl_info info{};
    if (::dladdr(caller, &info) == 0 || !info.dli_fname) return false;
    std::string_view file = info.dli_fname;
    file.remove_prefix(std::min(file.rfind('/') + 1, file.size()));
    auto begins = [file](const char* name) { return file.starts_with(name); };
    return std::ranges::any_of(kTrusted, begins);
}

// The machine whose run the call would spoil; null unless the program makes the call in a
// simulation. A sanitizer intercepts these functions before this library and calls them itself,
// also while it holds the lock of its allocator: with one, nothing is checked.
Machine* watched(const void* caller) {
    if (sanitizer::knows_stacks) return nullptr;
    auto* machine = static_cast<Machine*>(env::current());
    if (!machine || machine->is_hidden() || is_trusted(caller)) return nullptr;
    return machine;
}

void forbid(const void* caller, const char* what, const char* instead) {
    Machine* machine = watched(caller);
    if (!machine) return;
    machine->fail(std::string(what) + " in a simulation: one seed would give different runs; use " +
                  instead);
}

constexpr const char* kClockInstead = "weft::Clock::now()";
constexpr const char* kRandomInstead = "sim::random_below(), or env::random() in shipped code";
constexpr const char* kSleepInstead = "weft::sleep_for()";

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void set_guard() {}

}  // namespace weft::sim

using weft::sim::forbid;

// Functions with the names of those of the C library, which the whole program finds first.
#define WEFT_GUARDED(name, what, instead, ...)                          \
    static auto* const actual = weft::sim::next<decltype(name)>(#name); \
    forbid(__builtin_return_address(0), what, instead);                 \
    return actual(__VA_ARGS__)

extern "C" {

int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
    WEFT_GUARDED(clock_gettime, "the real clock was read", weft::sim::kClockInstead, clock, time);
}

int gettimeofday(struct timeval* time, void* zone) noexcept {
    WEFT_GUARDED(gettimeofday, "the real clock was read", weft::sim::kClockInstead, time, zone);
}

time_t time(time_t* seconds) noexcept {
    WEFT_GUARDED(time, "the real clock was read", weft::sim::kClockInstead, seconds);
}

int nanosleep(const struct timespec* wanted, struct timespec* left) {
    WEFT_GUARDED(nanosleep, "a real sleep", weft::sim::kSleepInstead, wanted, left);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* wanted,
                    struct timespec* left) {
    WEFT_GUARDED(clock_nanosleep, "a real sleep", weft::sim::kSleepInstead, clock, flags, wanted,
                 left);
}

int usleep(useconds_t microseconds) {
    WEFT_GUARDED(usleep, "a real sleep", weft::sim::kSleepInstead, microseconds);
}

unsigned sleep(unsigned seconds) {
    WEFT_GUARDED(sleep, "a real sleep", weft::sim::kSleepInstead, seconds);
}

ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
    WEFT_GUARDED(getrandom, "real randomness was drawn", weft::sim::kRandomInstead, buffer, size,
                 flags);
}

int getentropy(void* buffer, size_t size) {
    WEFT_GUARDED(getentropy, "real randomness was drawn", weft::sim::kRandomInstead, buffer, size);
}

int rand() noexcept {
    WEFT_GUARDED(rand, "rand(), whose state outlives the run, was called",
                 weft::sim::kRandomInstead);
}

long random() noexcept {
    WEFT_GUARDED(random, "random(), whose state outlives the run, was called",
                 weft::sim::kRandomInstead);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*entry)(void*),
                   void* argument) noexcept {
    WEFT_GUARDED(pthread_create, "a real thread (std::thread, std::async) was started",
                 "spawn(), weft::blocking() or a Runtime", thread, attributes, entry, argument);
}

// One real thread plays all simulated ones: a lock that another of them holds is never released.
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static auto* const actual = weft::sim::next<decltype(pthread_mutex_lock)>("pthread_mutex_lock");
    if (!weft::sim::watched(__builtin_return_address(0))) return actual(mutex);
    struct timespec end{};
    {
        weft::env::Unseen real;
        clock_gettime(CLOCK_REALTIME, &end);
    }
    end.tv_sec += 2;  // another real thread may have it for a moment
    int result = pthread_mutex_timedlock(mutex, &end);
    if (result == ETIMEDOUT) {
        forbid(__builtin_return_address(0),
               "a std::mutex that another fiber holds over a wait was locked", "weft::Mutex");
    }
    return result;
}

// std::random_device::operator() reads from the processor without calling the C library.
unsigned weft_random_device_value(void* device) __asm__("_ZNSt13random_device9_M_getvalEv");
unsigned weft_random_device_value(void* device) {
    using Value = unsigned(void*);
    static auto* const actual = weft::sim::next<Value>("_ZNSt13random_device9_M_getvalEv");
    forbid(__builtin_return_address(0), "std::random_device was asked", weft::sim::kRandomInstead);
    return actual(device);
}

}  // extern "C"
