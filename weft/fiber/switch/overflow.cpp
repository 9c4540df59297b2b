
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/sanitizer.h"
#include "weft/fiber/report/symbols.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/locals.h"
#include "weft/fiber/switch/stack.h"

#if defined(WEFT_UNWIND) && defined(__x86_64__)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

namespace weft {
namespace {

constexpr std::size_t kFramesShown = 24;
constexpr unsigned kNamingSecondsMax = 10;

// Written once, before the handler that reads them is installed.
struct sigaction previous_segv;  // tidy: allow global: the process has one handler
struct sigaction previous_bus;   // tidy: allow global: the process has one handler

// Safe in a signal handler.
void say(std::string_view text) {
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

void say_number(std::size_t number) {
    char digits[20];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    say({digits + at, sizeof digits - at});
}

#if defined(WEFT_UNWIND) && defined(__x86_64__)

// The innermost frames of the interrupted code; they show what a recursion consists of.
std::size_t gather_frames(void* interrupted, std::span<std::uintptr_t> frames) {
    unw_cursor_t cursor;
    if (unw_init_local2(&cursor, static_cast<unw_context_t*>(interrupted), UNW_INIT_SIGNAL_FRAME) !=
        0) {
        return 0;
    }
    std::size_t count = 0;
    do {
        unw_word_t address = 0;
        if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0) break;
        // The first one is where it faulted, the others are return addresses.
        frames[count] = count == 0 ? address : address - 1;
    } while (++count < frames.size() && unw_step(&cursor) > 0);
    return count;
}

#else

std::size_t gather_frames(void*, std::span<std::uintptr_t>) { return 0; }

#endif

// Naming frames allocates memory and takes locks, which the fiber may have held when it overflowed.
// The process ends after this in any case; if the naming deadlocks, the alarm calls abort(). Not
// under the thread sanitizer, which treats such a handler as an error and ends the process itself.
void say_frames(void* interrupted) {
    if (sanitizer::has_tsan()) return;
    std::uintptr_t frames[kFramesShown];
    std::size_t count = gather_frames(interrupted, frames);
    if (count == 0) return;
    struct sigaction action{};
    action.sa_handler = [](int) { abort(); };
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    if (sigaction(SIGALRM, &action, nullptr) != 0) return;
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
    alarm(kNamingSecondsMax);
    for (const std::string& frame : symbols::describe(std::span(frames).first(count))) {
        say("    ");
        say(frame);
        say("\n");
    }
}

[[noreturn]] void report_overflow(const Fiber* fiber, void* interrupted) {
    say("weft: stack overflow in fiber '");
    // The fiber runs on this very thread.
    std::string_view name = fiber ? name_in(*fiber) : std::string_view();
    say(name.empty() ? "unnamed" : name);
    say("'");
    if (fiber && fiber->stack) {
        say(" (stack of ");
        say_number((kStackBytesMin << fiber->stack->size_class) / 1024);
        say(" KiB)");
    }
    say("; give it more by SpawnOptions::stack_bytes (of handlers ServerOptions::stack_bytes) or "
        "WEFT_FIBER_STACK_KB\n");
    say_frames(interrupted);
    abort();
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const void* bottom = nullptr;
    if (stacks::is_guard(info->si_addr, &bottom)) {
        Worker* worker = this_worker();
        report_overflow(worker ? worker->current() : nullptr, context);
    }
    struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
    if ((previous.sa_flags & SA_SIGINFO) && previous.sa_sigaction)
        return previous.sa_sigaction(signal, info, context);
    // The default action, on the instruction that faulted.
    sigaction(signal, &previous, nullptr);
}

bool install() {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, nullptr, &previous_segv);
    sigaction(SIGBUS, nullptr, &previous_bus);
    return sigaction(SIGSEGV, &action, nullptr) == 0 && sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

FaultStack::FaultStack() : memory_(std::make_unique<std::byte[]>(kBytes)) {
    static const bool installed = install();
    static_cast<void>(installed);
}

FaultStack::Use::Use(FaultStack& stack) {
    if (env::current()) return;
    stack_t used{};
    used.ss_sp = stack.memory_.get();
    used.ss_size = kBytes;
    sigaltstack(&used, nullptr);
}

FaultStack::Use::~Use() {
    if (env::current()) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

}  // namespace weft
