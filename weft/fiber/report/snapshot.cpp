#include "weft/fiber/report/snapshot.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/base/sanitizer.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {

// The threads of all workers of the process. Any thread.
class SnapshotTargets {
public:
    void add(SnapshotTarget& target) {
        SpinGuard guard(lock_);
        target.next_ = first_;
        first_ = &target;
    }
    void remove(SnapshotTarget& target) {
        SpinGuard guard(lock_);
        SnapshotTarget** place = &first_;
        while (*place != &target) place = &(*place)->next_;
        *place = target.next_;
    }
    // The lock is held during the visits, each of which lasts as long as a copy takes, so that no
    // thread ends meanwhile. Only a worker that starts or ends has to wait for it.
    template <class Visit>
    void visit(Visit&& visit) {
        SpinGuard guard(lock_);
        for (SnapshotTarget* target = first_; target; target = target->next_)
            visit(*target, target->worker_);
    }
    static bool take(SnapshotTarget& target, StackSnapshot& snapshot) {
        return target.take(snapshot);
    }
    static std::uint64_t thread_of(const SnapshotTarget& target) { return target.thread_; }
    static int kernel_id_of(const SnapshotTarget& target) { return target.kernel_id_; }

private:
    SpinLock lock_;
    SnapshotTarget* first_ = nullptr;
};

namespace {

constexpr std::int64_t kAnswerNsMax = 200'000'000;
constexpr std::int64_t kSecondLookNs = 1'000'000;
constexpr int kWaitingTriesMax = 3;
constexpr std::size_t kRedZoneBytes = 128;

constinit SnapshotTargets targets;  // tidy: allow global: threads belong to the process

void on_snapshot_signal(int, siginfo_t*, void* context) {
    int before = errno;
    Worker* worker = this_worker();
    if (worker && worker->snapshot_target()) worker->snapshot_target()->answer(context);
    errno = before;
}

bool install_handler() {
#ifdef WEFT_TSAN
    // The sanitizer holds signals back until the thread calls something that it knows.
    return false;
#else
    struct sigaction before{};
    if (::sigaction(kSnapshotSignal, nullptr, &before) != 0) return false;
    bool taken = (before.sa_flags & SA_SIGINFO) != 0 ||
                 (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
    if (taken) return false;
    struct sigaction action{};
    action.sa_sigaction = on_snapshot_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    return ::sigaction(kSnapshotSignal, &action, nullptr) == 0;
#endif
}

bool has_handler() {
    static const bool installed = install_handler();
    if (!installed) return false;
    struct sigaction now{};
    return ::sigaction(kSnapshotSignal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
           now.sa_sigaction == on_snapshot_signal;
}

// Reads a stack that may be in use, and parts of it that a sanitizer has poisoned. False if the
// stack pointer is not on the fiber's stack: the thread is between two fibers.
__attribute__((no_sanitize("address", "thread", "undefined"))) bool copy_stack(
    Fiber* fiber, StackSnapshot& snapshot) {
    Stack* stack = *const_cast<Stack* volatile*>(&fiber->stack);
    if (!stack) return false;
    auto bottom = reinterpret_cast<std::uintptr_t>(stack->bottom);
    auto top = reinterpret_cast<std::uintptr_t>(stack);
    std::uintptr_t pointer = snapshot.registers[StackSnapshot::kStackPointer];
    if (pointer < bottom || pointer >= top || pointer % sizeof pointer != 0) return false;
    // The unwinder may need a register that was just popped: it lies below the stack pointer.
    snapshot.begin = std::max(bottom, pointer - kRedZoneBytes);
    std::size_t count = std::min((top - snapshot.begin) / sizeof pointer, StackSnapshot::kWordsMax);
    const auto* from = reinterpret_cast<const volatile std::uintptr_t*>(snapshot.begin);
    // The thread that wants the snapshot has made room: nothing is allocated here.
    std::uintptr_t* to = snapshot.words.data();
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
    snapshot.fiber = fiber;
    snapshot.word_count = count;
    return true;
}

void prepare(StackSnapshot& snapshot) {
    snapshot.fiber = nullptr;
    snapshot.words.resize(StackSnapshot::kWordsMax);
}

bool finish(StackSnapshot& snapshot) {
    if (!snapshot.fiber) return false;
    WEFT_ASSERT(snapshot.word_count <= snapshot.words.size(), "a copy fits into its room");
    snapshot.words.resize(snapshot.word_count);
    return true;
}

// What the kernel says about where the thread waits; empty if it computes, or if the kernel does
// not tell.
std::string_view read_place(int kernel_id, std::span<char> room) {
    char path[64];
    *fmt::format_to_n(path, sizeof path - 1, "/proc/self/task/{}/syscall", kernel_id).out = '\0';
    int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    ssize_t size = ::read(file, room.data(), room.size());
    ::close(file);
    std::string_view text(room.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return text.starts_with("running") ? std::string_view() : text;
}

struct Place {
    std::uintptr_t stack_pointer = 0;
    std::uintptr_t instruction = 0;
};

// The last two words of the line, in hexadecimal.
std::optional<Place> parse_place(std::string_view text) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    auto last = [&text]() -> std::optional<std::uintptr_t> {
        std::size_t at = text.rfind("0x");
        if (at == std::string_view::npos) return std::nullopt;
        std::uintptr_t value = 0;
        const char* end = text.data() + text.size();
        if (std::from_chars(text.data() + at + 2, end, value, 16).ec != std::errc())
            return std::nullopt;
        text = text.substr(0, at);
        while (text.ends_with(' ')) text.remove_suffix(1);
        return value;
    };
    std::optional<std::uintptr_t> instruction = last();
    std::optional<std::uintptr_t> stack_pointer = last();
    if (!instruction || !stack_pointer) return std::nullopt;
    return Place{*stack_pointer, *instruction};
}

// The code of the program, as the kernel has mapped it. Not from the dynamic linker, whose lock the
// examined thread may hold.
class LoadedCode {
public:
    LoadedCode() {
        int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        std::string text;
        std::array<char, 4096> part;
        for (ssize_t size; (size = ::read(file, part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(size));
        ::close(file);
        for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1)
            add(std::string_view(text).substr(at, end - at));
    }

    // Whether a call instruction ends at the address: e8 and four bytes, or ff /2, which takes two
    // to seven bytes.
    bool is_after_call(std::uintptr_t address) const {
        constexpr std::uintptr_t longest = 7;
        auto holds = [&](const Range& range) {
            return address >= range.begin + longest && address < range.end;
        };
        if (std::ranges::none_of(ranges_, holds)) return false;
        const auto* next = reinterpret_cast<const unsigned char*>(address);
        if (next[-5] == 0xe8) return true;
        for (std::uintptr_t size = 2; size <= longest; ++size) {
            const unsigned char* call = next - size;
            if (call[0] == 0xff && (call[1] >> 3 & 7) == 2) return true;
        }
        return false;
    }

private:
    struct Range {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
    };

    // begin-end rwxp ...
    void add(std::string_view line) {
        Range range;
        const char* last = line.data() + line.size();
        auto [dash, wrong] = std::from_chars(line.data(), last, range.begin, 16);
        if (wrong != std::errc() || dash == last) return;
        auto [rest, also] = std::from_chars(dash + 1, last, range.end, 16);
        std::string_view rights(rest, last);
        if (also == std::errc() && rights.starts_with(" r") && rights.substr(3, 1) == "x")
            ranges_.push_back(range);
    }

    std::vector<Range> ranges_;
};

// The kernel does not tell the base pointer, which is needed to unwind code with frame pointers. It
// is taken to be the first word upwards from the stack pointer that holds an address further up in
// the stack, with a return address above it.
void guess_base_pointer(StackSnapshot& snapshot) {
    const LoadedCode code;
    std::uintptr_t begin = snapshot.begin;
    std::size_t count = snapshot.words.size();
    std::uintptr_t end = begin + count * sizeof begin;
    std::uintptr_t pointer = snapshot.registers[StackSnapshot::kStackPointer];
    WEFT_ASSERT(pointer >= begin, "a copy begins at the stack pointer or below");
    for (std::size_t i = (pointer - begin) / sizeof begin; i + 1 < count; ++i) {
        std::uintptr_t place = begin + i * sizeof begin;
        std::uintptr_t caller = snapshot.words[i];
        std::uintptr_t back = snapshot.words[i + 1];
        bool is_frame = caller > place && caller < end && caller % sizeof caller == 0;
        if (!is_frame || !code.is_after_call(back)) continue;
        snapshot.registers[StackSnapshot::kBasePointer] = place;
        return;
    }
}

}  // namespace

SnapshotTarget::SnapshotTarget(Worker& worker)
    : worker_(worker),
      thread_(static_cast<std::uint64_t>(::pthread_self())),
      kernel_id_(static_cast<int>(::gettid())) {
    if (has_handler()) {
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, kSnapshotSignal);
        ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    }
    targets.add(*this);
}

SnapshotTarget::~SnapshotTarget() { targets.remove(*this); }

// In a signal handler, on the thread itself.
void SnapshotTarget::answer([[maybe_unused]] void* signal_context) {
    std::uint32_t asked = kAsked;
    // Acquire: sees asked_for_.
    if (!state_.compare_exchange_strong(asked, kCopying, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
        return;
    }
#if defined(__x86_64__)
    static constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    const auto& from = static_cast<ucontext_t*>(signal_context)->uc_mcontext.gregs;
    for (std::size_t i = 0; i < StackSnapshot::kRegisterCount; ++i)
        asked_for_->registers[i] = static_cast<std::uintptr_t>(from[kOrder[i]]);
    if (Fiber* fiber = worker_.current()) copy_stack(fiber, *asked_for_);
#endif
    // Release: publishes the copy.
    state_.store(kDone, std::memory_order_release);
    env::real::futex_wake(state_.futex_address(), 1);
}

bool SnapshotTarget::take_by_signal(StackSnapshot& snapshot) {
    if (!has_handler()) return false;
    // Relaxed: one thread asks at a time, under the lock of the list.
    WEFT_ASSERT(state_.load(std::memory_order_relaxed) == kIdle, "a thread is asked by one");
    prepare(snapshot);
    asked_for_ = &snapshot;
    // Release: publishes asked_for_.
    state_.store(kAsked, std::memory_order_release);
    if (::pthread_kill(static_cast<pthread_t>(thread_), kSnapshotSignal) != 0) {
        state_.store(kIdle, std::memory_order_relaxed);
        return false;
    }
    std::int64_t deadline = env::real::now_ns() + kAnswerNsMax;
    std::uint32_t state = kAsked;
    // Acquire: the copy.
    while ((state = state_.load(std::memory_order_acquire)) != kDone) {
        if (state == kAsked && env::real::now_ns() >= deadline) {
            // Withdrawn. A handler that has begun is not withdrawn, because it ends soon.
            if (state_.compare_exchange_strong(state, kIdle, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
                return false;
            }
            continue;
        }
        env::real::futex_wait(state_.futex_address(), state, deadline);
        if (state == kCopying) env::real::spin_pause(UINT32_MAX);
    }
    state_.store(kIdle, std::memory_order_relaxed);
    return finish(snapshot);
}

// `computes`: the thread did not wait in the kernel, or went on during the copy.
bool SnapshotTarget::take_waiting(StackSnapshot& snapshot, bool& computes) {
    for (int tries = 0; tries < kWaitingTriesMax; ++tries) {
        char first[256];
        char second[256];
        std::string_view before = read_place(kernel_id_, first);
        std::optional<Place> place = parse_place(before);
        if (!place) break;
        Fiber* fiber = worker_.peek().fiber;
        if (!fiber) return false;
        prepare(snapshot);
        std::ranges::fill(snapshot.registers, 0);
        snapshot.registers[StackSnapshot::kStackPointer] = place->stack_pointer;
        snapshot.registers[StackSnapshot::kInstruction] = place->instruction;
        bool copied = copy_stack(fiber, snapshot);
        if (read_place(kernel_id_, second) != before) continue;
        if (!copied || !finish(snapshot)) return false;
        guess_base_pointer(snapshot);
        return true;
    }
    computes = true;
    return false;
}

bool SnapshotTarget::take(StackSnapshot& snapshot) {
    bool computes = false;
    if (take_waiting(snapshot, computes)) return true;
    if (!computes) return false;
    // A signal ends some waits in the kernel early, so it must not hit a thread that has just begun
    // to wait. A thread that computes at two tests in a row will hardly begin to wait just now.
    std::uint32_t idle = kIdle;
    env::real::futex_wait(state_.futex_address(), idle, env::real::now_ns() + kSecondLookNs);
    computes = false;
    if (take_waiting(snapshot, computes)) return true;
    return computes && take_by_signal(snapshot);
}

std::vector<StackSnapshot> snapshots_of(const Scheduler* scheduler) {
    std::vector<StackSnapshot> taken;
#if defined(__x86_64__)
    if (env::current()) return taken;
    targets.visit([&](SnapshotTarget& target, const Worker& worker) {
        if (scheduler && &worker.scheduler() != scheduler) return;
        StackSnapshot snapshot;
        if (SnapshotTargets::take(target, snapshot)) taken.push_back(std::move(snapshot));
    });
#else
    static_cast<void>(scheduler);
#endif
    return taken;
}

bool snapshot_of(const Worker& worker, StackSnapshot& snapshot) {
    bool taken = false;
#if defined(__x86_64__)
    if (env::current()) return false;
    targets.visit([&](SnapshotTarget& target, const Worker& owner) {
        if (&owner == &worker) taken = SnapshotTargets::take(target, snapshot);
    });
#else
    static_cast<void>(worker);
    static_cast<void>(snapshot);
#endif
    return taken;
}

bool times_of(const Worker& worker, ThreadTimes& times) {
    bool known = false;
    targets.visit([&](SnapshotTarget& target, const Worker& owner) {
        if (&owner != &worker) return;
        clockid_t clock{};
        timespec spent{};
        auto thread = static_cast<pthread_t>(SnapshotTargets::thread_of(target));
        if (::pthread_getcpuclockid(thread, &clock) != 0) return;
        ::clock_gettime(clock, &spent);  // tidy: allow clock: of one thread's work
        char room[256];
        times.waits = !read_place(SnapshotTargets::kernel_id_of(target), room).empty();
        times.cpu_ns = std::int64_t{spent.tv_sec} * 1'000'000'000 + spent.tv_nsec;
        known = true;
    });
    return known;
}

}  // namespace weft
