#include "weft/sim/internal/crash.h"

#include <signal.h>  // tidy: allow foreign: the signals that end a process
#include <unistd.h>  // tidy: allow foreign: all that a handler of them may call

#include <array>
#include <string_view>
#include <utility>

#include "weft/base/format.h"

namespace weft::sim {
namespace {

// Enough for the report of a stack overflow, whose handler may run on this stack.
constexpr std::size_t kStackBytes = 64 * 1024;

struct Fatal {
    int signal;
    std::string_view name;
};
constexpr std::array<Fatal, 5> kFatal = {{{SIGSEGV, "SIGSEGV"},
                                          {SIGBUS, "SIGBUS"},
                                          {SIGILL, "SIGILL"},
                                          {SIGFPE, "SIGFPE"},
                                          {SIGABRT, "SIGABRT"}}};

// Written once, before the handler that reads them is installed.
struct sigaction previous[kFatal.size()];  // tidy: allow global: the process has one handler

// tidy: allow thread_local: a handler runs on the thread that has crashed
constinit thread_local const CrashReplay* replay_here = nullptr;
// tidy: allow thread_local: the same
constinit thread_local const CrashWatch* run_here = nullptr;

// Safe in a signal handler.
void say(std::string_view text) {
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

void on_crash(int signal, siginfo_t* info, void*) {
    std::size_t index = 0;
    while (kFatal[index].signal != signal) ++index;
    // Only once: the earlier handler may abort, which raises another signal.
    if (const CrashWatch* run = std::exchange(run_here, nullptr)) {
        say("weft: ");
        say(kFatal[index].name);
        say(run->text());
    }
    sigaction(signal, &previous[index], nullptr);
    // An instruction that faulted is executed again on return, and faults again. A signal that was
    // sent (si_code <= 0) has to be raised again.
    if (info->si_code <= 0) raise(signal);
}

bool install() {
    struct sigaction action{};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kFatal.size(); ++i) {
        if (sigaction(kFatal[i].signal, nullptr, &previous[i]) != 0 ||
            sigaction(kFatal[i].signal, &action, nullptr) != 0)
            return false;
    }
    return true;
}

std::string text_of(std::uint64_t seed) {
    return format(" in a simulated run: seed {}\n{}\n", seed,
                  replay_here ? replay_here->line()
                              : format("replay: sim::run() with sim::Options::seed = {}", seed));
}

}  // namespace

CrashReplay::CrashReplay(std::string line)
    : line_(std::move(line)), outer_(std::exchange(replay_here, this)) {}

CrashReplay::~CrashReplay() { replay_here = outer_; }

CrashWatch::CrashWatch(std::uint64_t seed) : text_(text_of(seed)) {
    static const bool installed = install();
    static_cast<void>(installed);
    run_here = this;
    stack_t before{};
    if (sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
    stack_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    stack_t used{};
    used.ss_sp = stack_.get();
    used.ss_size = kStackBytes;
    sigaltstack(&used, nullptr);
}

CrashWatch::~CrashWatch() {
    run_here = nullptr;
    if (!stack_) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

}  // namespace weft::sim
