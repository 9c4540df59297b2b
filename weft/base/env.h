// Env: everything Weft asks of the machine it runs on.
//
// Product code never asks the operating system for time, randomness, threads, sleeping or
// descriptors except through the functions of `weft::env`. Each of them has one predictable branch:
// in a thread whose `current()` is null they ask the real machine. In a thread that executes a
// simulated machine (weft/sim) `current()` is that machine, and the whole runtime above it runs in
// virtual time under a seed. So the shipped binary can simulate itself.
//
// Any thread. The current Env of a thread is set only by weft/sim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef WEFT_MODEL
#include "weft/testing/model_atomic.h"
#endif

namespace weft {

class EnvFiles;
class EnvSockets;
class Reactor;
namespace fiber_blocks {
struct Depot;
}

// The streams are separate so that an added fault does not change the workload or the schedule of a
// seed. Secret reads the kernel's random source each time: earlier words do not predict the next.
enum class RandomStream : std::uint8_t { Scheduler, Faults, Workload, Secret };

// What an allocation is for; the seed of a simulation decides which allocations of each kind fail.
enum class Allocation : std::uint8_t { Stack, Block, Buffer };

enum class FutexWait : std::uint8_t { Woken, TimedOut };

inline constexpr std::int64_t kNeverNs = INT64_MAX;

// A thread of the machine. Opaque: a pthread, or a processor of the simulation.
struct EnvThread {
    std::uint64_t handle = 0;
};

// Storage in a simulated thread for the objects that are thread-local on a real one.
struct EnvThreadStorage {
    alignas(16) std::byte bytes[112];
    bool used = false;
};

// A simulated machine. Every call comes from the thread that executes it.
class Env {
public:
    virtual std::int64_t now_ns() = 0;
    virtual std::int64_t wall_ns() = 0;
    virtual std::uint64_t random(RandomStream stream) = 0;

    // A scheduling point: another simulated processor may run next.
    virtual void step() = 0;
    // An operation of a primitive, which is a scheduling point as well; see weft/fiber/turn.h. The
    // name is a literal. True if the fiber has to give up its turn, too; never for MayWait::No.
    enum class MayWait : bool { No, Yes };
    virtual bool operation(const char* name, const void* object, MayWait may_wait) = 0;
    // A scheduling point in a loop that makes progress only after another processor has.
    virtual void spin() = 0;
    // An event for the trace of the run; two runs of one seed make the same sequence.
    virtual void trace(const char* event, std::uint64_t a, std::uint64_t b) = 0;
    // A line of the log, which belongs to the run and not to the process.
    virtual void log(std::string_view line) = 0;
    // Whether this allocation is to fail.
    virtual bool fails(Allocation kind) = 0;
    // Between hide() and show() nothing is a scheduling point and nothing fails. Calls nest. See
    // env::Unseen.
    virtual void hide() = 0;
    virtual void show() = 0;

    // These two belong to the simulated thread that runs.
    virtual EnvThreadStorage& thread_storage() = 0;
    virtual fiber_blocks::Depot& block_depot() = 0;
    virtual EnvThread start_thread(void (*entry)(void*), void* argument, const char* name) = 0;
    virtual void join_thread(EnvThread thread) = 0;
    virtual FutexWait futex_wait(std::uint32_t* word, std::uint32_t expected,
                                 std::int64_t deadline_ns) = 0;
    virtual void futex_wake(std::uint32_t* word, unsigned count) = 0;
    // The caller owns the reactor and destroys it.
    virtual Reactor* make_reactor() = 0;

    // Descriptors. All return a count or a descriptor, or -errno.
    virtual long read(int fd, void* buffer, std::size_t size) = 0;
    virtual long write(int fd, const void* buffer, std::size_t size) = 0;
    virtual int pipe(int (&ends)[2]) = 0;
    virtual int close(int fd) = 0;
    virtual EnvSockets& sockets() = 0;  // the network; see env_sockets.h
    virtual EnvFiles& files() = 0;      // the disk; see env_files.h

    // Ends the run: an assertion does not hold.
    [[noreturn]] virtual void fail(std::string_view why) = 0;
    // Implement the functions of the same names in weft/sim/probes.h.
    virtual void sometimes(bool reached, const char* name) = 0;
    virtual bool buggify(std::uint64_t site) = 0;
    // Whether the run records the values that operations pass on; if so, keep_value() gives the
    // value of the operation that is reported next.
    virtual bool wants_values() const = 0;
    virtual void keep_value(std::string_view text) = 0;

protected:
    ~Env() = default;
};

namespace env {

#ifdef WEFT_MODEL

inline void step() {}
inline void spin_pause(unsigned) { model::spin_hint(); }

#else

namespace real {
std::int64_t now_ns();
std::int64_t tick_ns();  // the time of the kernel's last tick: cheap, and a few milliseconds old
std::int64_t wall_ns();
std::uint64_t random();
std::uint64_t secret();
void spin_pause(unsigned attempt);
EnvThread start_thread(void (*entry)(void*), void* argument, const char* name);
void join_thread(EnvThread thread);
FutexWait futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns);
void futex_wake(std::uint32_t* word, unsigned count);
Reactor* make_reactor();
long read(int fd, void* buffer, std::size_t size);
long write(int fd, const void* buffer, std::size_t size);
long receive(int fd, void* buffer, std::size_t size);
long send(int fd, const void* buffer, std::size_t size);
int pipe(int (&ends)[2]);
int close(int fd);
}  // namespace real

// Initial-exec: the address is computed at each access, without a call whose result the compiler
// could keep while the fiber changes its thread.
extern constinit thread_local Env* current_env
    __attribute__((tls_model("initial-exec")));  // tidy: allow thread_local: the current Env

inline Env* current() { return current_env; }

inline std::int64_t now_ns() {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->now_ns();
    return real::now_ns();
}
inline std::int64_t wall_ns() {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->wall_ns();
    return real::wall_ns();
}
inline std::uint64_t random(RandomStream stream) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->random(stream);
    return stream == RandomStream::Secret ? real::secret() : real::random();
}
inline void step() {
    if (Env* simulated = current()) [[unlikely]]
        simulated->step();
}
// For a fiber that yields while no other fiber is ready: only another processor can change that.
inline void yield_hint() {
    if (Env* simulated = current()) [[unlikely]]
        simulated->spin();
}
// `attempt` counts from 0 in each loop: the first attempts pause, later ones yield the processor.
inline void spin_pause(unsigned attempt) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->spin();
    real::spin_pause(attempt);
}
inline void trace(const char* event, std::uint64_t a = 0, std::uint64_t b = 0) {
    if (Env* simulated = current()) [[unlikely]]
        simulated->trace(event, a, b);
}
inline bool fails(Allocation kind) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->fails(kind);
    return false;
}
// What happens during its lifetime is not part of the simulation. For pools that all runs of a
// process share: their state must not influence a run.
class [[nodiscard]] Unseen {
public:
    Unseen() : simulated_(current()) {
        if (simulated_) [[unlikely]]
            simulated_->hide();
    }
    ~Unseen() {
        if (simulated_) [[unlikely]]
            simulated_->show();
    }
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;

private:
    Env* simulated_;
};
inline EnvThread start_thread(void (*entry)(void*), void* argument, const char* name) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->start_thread(entry, argument, name);
    return real::start_thread(entry, argument, name);
}
inline void join_thread(EnvThread thread) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->join_thread(thread);
    real::join_thread(thread);
}
inline FutexWait futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->futex_wait(word, expected, deadline_ns);
    return real::futex_wait(word, expected, deadline_ns);
}
inline void futex_wake(std::uint32_t* word, unsigned count) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->futex_wake(word, count);
    real::futex_wake(word, count);
}
inline Reactor* make_reactor() {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->make_reactor();
    return real::make_reactor();
}
inline long read(int fd, void* buffer, std::size_t size) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->read(fd, buffer, size);
    return real::read(fd, buffer, size);
}
inline long write(int fd, const void* buffer, std::size_t size) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->write(fd, buffer, size);
    return real::write(fd, buffer, size);
}
// read() and write() for stream sockets: a broken connection raises no SIGPIPE.
inline long receive(int fd, void* buffer, std::size_t size) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->read(fd, buffer, size);
    return real::receive(fd, buffer, size);
}
inline long send(int fd, const void* buffer, std::size_t size) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->write(fd, buffer, size);
    return real::send(fd, buffer, size);
}
inline int pipe(int (&ends)[2]) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->pipe(ends);
    return real::pipe(ends);
}
inline int close(int fd) {
    if (Env* simulated = current()) [[unlikely]]
        return simulated->close(fd);
    return real::close(fd);
}

#endif

}  // namespace env
}  // namespace weft
