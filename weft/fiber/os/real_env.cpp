// The real machine behind weft/base/env.h.
//
// Every function that calls the kernel returns the error by value: errno belongs to a thread, and
// the calling fiber may resume on another one. The functions are not inlined, because an optimiser
// might keep the address of errno, or of the random generator, over a switch.
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>  // tidy: allow foreign: recv and send, which cost less than read and write
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/base/sanitizer.h"
#include "weft/base/time.h"
#include "weft/fiber/io/reactor.h"
#include "weft/fiber/io/system_call.h"
#include "weft/fiber/switch/context.h"

namespace weft::env {

namespace real {
namespace {

constexpr std::size_t kThreadStackBytes = 1 << 20;
constexpr unsigned kPausesMax = 10;  // then the core is given up
constexpr unsigned kLongestPauseLog2 = 6;

std::int64_t read_clock(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);  // tidy: allow clock: the real machine's
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t entropy() {
    std::uint64_t seed = 0;
    // Until the kernel has gathered entropy the clock has to do.
    if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) !=  // tidy: allow random: the seed
        static_cast<ssize_t>(sizeof seed)) {
        seed = static_cast<std::uint64_t>(read_clock(CLOCK_MONOTONIC)) ^
               reinterpret_cast<std::uintptr_t>(&seed);
    }
    return seed;
}

// Signals to the process are left to the threads of the program; those that a thread causes itself
// stay unblocked.
sigset_t blocked_in_threads() {
    sigset_t signals;
    sigfillset(&signals);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
        sigdelset(&signals, own);
    return signals;
}

struct ThreadStart {
    void (*entry)(void*);
    void* argument;
    std::string name;
};

void* thread_main(void* argument) {
    std::unique_ptr<ThreadStart> start(static_cast<ThreadStart*>(argument));
    constexpr std::size_t name_bytes_max = 15;  // of the kernel
    ::pthread_setname_np(::pthread_self(), start->name.substr(0, name_bytes_max).c_str());
    void (*entry)(void*) = start->entry;
    void* entry_argument = start->argument;
    start.reset();
    entry(entry_argument);
    return nullptr;
}

}  // namespace

[[gnu::noinline]] std::int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }
[[gnu::noinline]] std::int64_t tick_ns() { return read_clock(CLOCK_MONOTONIC_COARSE); }
[[gnu::noinline]] std::int64_t wall_ns() { return read_clock(CLOCK_REALTIME); }

[[gnu::noinline]] std::uint64_t random() {
    // SplitMix64: for choices of the scheduler and jitter, not for secrets.
    static constinit thread_local std::uint64_t  // tidy: allow thread_local: no switch in here
        state = 0;
    if (state == 0) state = entropy() | 1;
    std::uint64_t word = state += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

std::uint64_t secret() {
    std::uint64_t word = 0;
    // Up to 256 bytes come whole or not at all; it blocks only until the kernel has gathered
    // entropy after its start.
    while (::getrandom(&word, sizeof word, 0) !=  // tidy: allow random: a secret
           static_cast<ssize_t>(sizeof word)) {
        WEFT_ASSERT(errno == EINTR || errno == EAGAIN, "the kernel gives no random bytes");
    }
    return word;
}

// Back-off: pauses longer with each attempt, because threads that compete for a cache line would
// otherwise do little else than pass it between their cores.
void spin_pause(unsigned attempt) {
    if (attempt >= kPausesMax) {
        ::sched_yield();
        return;
    }
    for (unsigned left = 1U << std::min(attempt, kLongestPauseLog2); left != 0; --left) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("isb" ::: "memory");  // waits longer than yield does, which is a no-op on most
#elif defined(__riscv)
        asm volatile(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory");  // pause
#endif
    }
}

EnvThread start_thread(void (*entry)(void*), void* argument, const char* name) {
    auto start = std::make_unique<ThreadStart>(ThreadStart{entry, argument, name});
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) return {};
    ::pthread_attr_setstacksize(&attributes, kThreadStackBytes);
    sigset_t blocked = blocked_in_threads();
    sigset_t before;
    // A thread inherits the mask of its creator, who gets its own back.
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread{};
    int error = ::pthread_create(&thread, &attributes,  // tidy: allow threads: the real machine's
                                 thread_main, start.get());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&attributes);
    if (error != 0) {
        log(LogLevel::Error, "no thread '{}' could be started: {}", name, ::strerrordesc_np(error));
        return {};
    }
    static_cast<void>(start.release());  // the thread owns it now
    return EnvThread{static_cast<std::uint64_t>(thread)};
}

void join_thread(EnvThread thread) {
    WEFT_ASSERT(thread.handle != 0, "only a thread that was started is joined");
    int error = ::pthread_join(static_cast<pthread_t>(thread.handle), nullptr);
    WEFT_ASSERT(error == 0, "a thread is joined once, by another thread");
}

[[gnu::noinline]] FutexWait futex_wait(std::uint32_t* word, std::uint32_t expected,
                                       std::int64_t deadline_ns) {
    timespec deadline{};
    timespec* deadline_or_null = nullptr;
    if (deadline_ns != kNeverNs) {
        if (deadline_ns < 0) deadline_ns = 0;
        deadline.tv_sec = static_cast<time_t>(deadline_ns / 1'000'000'000);
        deadline.tv_nsec = static_cast<long>(deadline_ns % 1'000'000'000);
        deadline_or_null = &deadline;
    }
    // The bitset variant takes an absolute time of the monotonic clock.
    long result = ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                            deadline_or_null, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result == 0) return FutexWait::Woken;
    int error = errno;
    WEFT_DASSERT(error == EAGAIN || error == EINTR || error == ETIMEDOUT);
    // The thread sanitizer keeps a signal back until the thread calls a function that it
    // intercepts.
    if (error == EINTR && sanitizer::has_tsan()) ::usleep(0);  // tidy: allow sleep: it does not
    return error == ETIMEDOUT ? FutexWait::TimedOut : FutexWait::Woken;
}

void futex_wake(std::uint32_t* word, unsigned count) {
    int limited = static_cast<int>(count > INT_MAX ? INT_MAX : count);
    ::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, limited, nullptr, nullptr, 0);
}

Reactor* make_reactor() {
    Result<std::unique_ptr<Reactor>> reactor = reactors::make_default();
    if (reactor) return reactor->release();
    log(LogLevel::Error, "no reactor: {}", reactor.error().message());
    return nullptr;
}

[[gnu::noinline]] long read(int fd, void* buffer, std::size_t size) {
    return retry_interrupted([&] { return ::read(fd, buffer, size); },
                             [&] { return system_call(SYS_read, fd, buffer, size); });
}

[[gnu::noinline]] long write(int fd, const void* buffer, std::size_t size) {
    return retry_interrupted([&] { return ::write(fd, buffer, size); },
                             [&] { return system_call(SYS_write, fd, buffer, size); });
}

[[gnu::noinline]] long receive(int fd, void* buffer, std::size_t size) {
    return retry_interrupted(
        [&] { return ::recv(fd, buffer, size, 0); },
        [&] { return system_call(SYS_recvfrom, fd, buffer, size, 0, nullptr, nullptr); });
}

[[gnu::noinline]] long send(int fd, const void* buffer, std::size_t size) {
    return retry_interrupted(
        [&] { return ::send(fd, buffer, size, MSG_NOSIGNAL); },
        [&] { return system_call(SYS_sendto, fd, buffer, size, MSG_NOSIGNAL, nullptr, 0); });
}

[[gnu::noinline]] int pipe(int (&ends)[2]) {
    return ::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0 ? 0 : -errno;
}

[[gnu::noinline]] int close(int fd) {
    // Linux frees the descriptor also when it reports EINTR; a second call might close one that
    // another thread has opened since.
    return ::close(fd) == 0 || errno == EINTR ? 0 : -errno;
}

}  // namespace real
}  // namespace weft::env
