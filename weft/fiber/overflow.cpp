#include "weft/fiber/overflow.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "weft/base/atomic.h"
#include "weft/fiber/internal/locals.h"
#include "weft/fiber/internal/worker.h"
#include "weft/fiber/stack.h"

namespace weft {
namespace {

// Written once, before the handler that reads them is installed.
struct sigaction previous_segv;  // tidy: allow global: the process has one handler
struct sigaction previous_bus;   // tidy: allow global: the process has one handler

// Only what is safe in a signal handler.
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

[[noreturn]] void report_overflow(const Fiber* fiber) {
    say("weft: stack overflow in fiber '");
    // Relaxed: the fiber runs on this very thread.
    FiberLocals* locals = fiber ? fiber->locals.load(std::memory_order_relaxed) : nullptr;
    bool named = locals && !locals->name.empty();
    say(named ? std::string_view(locals->name) : std::string_view("unnamed"));
    say("'");
    if (fiber && fiber->stack) {
        say(" (stack of ");
        say_number((kStackBytesMin << fiber->stack->size_class) / 1024);
        say(" KiB)");
    }
    say("; give it more by SpawnOptions::stack_bytes or WEFT_FIBER_STACK_KB\n");
    abort();
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const void* bottom = nullptr;
    if (stacks::is_guard(info->si_addr, &bottom)) {
        Worker* worker = this_worker();
        report_overflow(worker ? worker->current() : nullptr);
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
    stack_t used{};
    used.ss_sp = stack.memory_.get();
    used.ss_size = kBytes;
    sigaltstack(&used, nullptr);
}

FaultStack::Use::~Use() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

}  // namespace weft
