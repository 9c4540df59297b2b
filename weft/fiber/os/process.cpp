#include "weft/fiber/os/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/os/signal.h"

namespace weft {
namespace {

// A descriptor of the kernel, closed at the end of the scope.
class OwnedFd {
public:
    OwnedFd() = default;
    explicit OwnedFd(int fd) : fd_(fd) {}
    OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    OwnedFd& operator=(OwnedFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~OwnedFd() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

struct ChildPipe {
    OwnedFd child;  // blocking, as programs expect their streams to be
    Descriptor ours;
};

Result<ChildPipe> open_pipe(bool child_reads) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno);
    OwnedFd reader(ends[0]);
    OwnedFd writer(ends[1]);
    OwnedFd& child = child_reads ? reader : writer;
    OwnedFd& ours = child_reads ? writer : reader;
    if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return Error::from_errno(errno);
    ChildPipe pipe;
    // Not 0, 1 or 2, which this process may have closed: the child's own streams are put there.
    pipe.child = OwnedFd(::fcntl(child.get(), F_DUPFD_CLOEXEC, 3));
    if (pipe.child.get() < 0) return Error::from_errno(errno);
    pipe.ours = Descriptor::adopt_nonblocking(ours.release(), Flow::Stream);
    return pipe;
}

// The arguments of posix_spawn, freed at the end of the scope.
struct SpawnPlan {
    SpawnPlan() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
    }
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

Result<void> plan_stream(SpawnPlan& plan, int number, ChildStream stream, ChildPipe& pipe) {
    int error = 0;
    if (stream == ChildStream::Null) {
        error = ::posix_spawn_file_actions_addopen(&plan.actions, number, "/dev/null", O_RDWR, 0);
    } else if (stream == ChildStream::Pipe) {
        pipe = WEFT_TRY(open_pipe(number == STDIN_FILENO));
        error = ::posix_spawn_file_actions_adddup2(&plan.actions, pipe.child.get(), number);
    }
    if (error != 0) return Error::from_errno(error);
    return {};
}

// In two steps: first all are copied to numbers above those that they are to have, so that none
// overwrites another.
Result<std::vector<OwnedFd>> plan_inherited(SpawnPlan& plan, const std::vector<int>& inherited) {
    constexpr int kFirst = 3;
    std::vector<OwnedFd> copies;
    int past = kFirst + static_cast<int>(inherited.size());
    for (std::size_t at = 0; at < inherited.size(); ++at) {
        OwnedFd copy(::fcntl(inherited[at], F_DUPFD_CLOEXEC, past));
        if (copy.get() < 0) return Error::from_errno(errno);
        int error = ::posix_spawn_file_actions_adddup2(&plan.actions, copy.get(),
                                                       kFirst + static_cast<int>(at));
        if (error != 0) return Error::from_errno(error);
        copies.push_back(std::move(copy));
    }
    return copies;
}

// A worker has nearly all signals blocked; the child starts with none blocked, and with the default
// action for SIGPIPE.
Result<void> plan_signals(SpawnPlan& plan, ProcessGroup group) {
    sigset_t none;
    sigset_t usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    int error = ::posix_spawnattr_setsigmask(&plan.attributes, &none);
    if (error == 0) error = ::posix_spawnattr_setsigdefault(&plan.attributes, &usual);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (group == ProcessGroup::Own) flags |= POSIX_SPAWN_SETPGROUP;  // 0, its own, by default
    if (error == 0) error = ::posix_spawnattr_setflags(&plan.attributes, static_cast<short>(flags));
    if (error != 0) return Error::from_errno(error);
    return {};
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    pointers.reserve(strings.size() + 1);
    for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

Result<pid_t> start(const ProcessOptions& options, SpawnPlan& plan) {
    std::vector<char*> arguments = pointers_to(options.arguments);
    std::vector<std::string> variables = options.added_environment;
    if (options.environment) {
        variables.insert(variables.end(), options.environment->begin(), options.environment->end());
    } else {
        for (char** variable = environ; variable && *variable; ++variable)
            variables.emplace_back(*variable);
    }
    std::vector<char*> environment = pointers_to(variables);
    pid_t pid = 0;
    // Blocks until the child has executed its program or failed to; so never on a worker.
    int error = ::posix_spawnp(&pid, arguments[0], &plan.actions, &plan.attributes,
                               arguments.data(), environment.data());
    if (error != 0) return Error::from_errno(error);
    return pid;
}

// The status of a child. With WNOHANG si_pid stays 0 if it has not ended; else this waits for its
// end.
[[gnu::noinline]] int ask_status(pid_t pid, int flags, siginfo_t& status) {
    for (;;) {
        status = {};
        if (::waitid(P_PID, static_cast<id_t>(pid), &status, WEXITED | flags) == 0) return 0;
        if (errno != EINTR) return errno;
    }
}

// The kernel's error is the same for a missing program and a missing folder, so both are named.
std::string place_of(const ProcessOptions& options) {
    if (options.directory.empty()) return options.arguments[0];
    return options.arguments[0] + " in " + options.directory;
}

}  // namespace

Result<Process> Process::spawn(const ProcessOptions& options) {
    if (env::current())
        return Error(ErrorKind::Unavailable, "a simulated machine has no processes");
    if (options.arguments.empty()) return Error(ErrorKind::Misuse, "a process without a program");
    SpawnPlan plan;
    std::array<ChildPipe, 3> pipes;
    WEFT_TRY(plan_stream(plan, STDIN_FILENO, options.input, pipes[0]));
    WEFT_TRY(plan_stream(plan, STDOUT_FILENO, options.output, pipes[1]));
    WEFT_TRY(plan_stream(plan, STDERR_FILENO, options.errors, pipes[2]));
    WEFT_TRY(plan_signals(plan, options.group));
    std::vector<OwnedFd> inherited = WEFT_TRY(plan_inherited(plan, options.inherited));
    if (!options.directory.empty()) {
        int error =
            ::posix_spawn_file_actions_addchdir_np(&plan.actions, options.directory.c_str());
        if (error != 0) return Error::from_errno(error);
    }
    Process process;
    Result<pid_t> started = blocking([&] { return start(options, plan); });
    if (!started) return started.error().with_context("start", place_of(options));
    process.pid_ = *started;
#ifdef SYS_pidfd_open
    if (options.watch == ChildWatch::Best) {
        // The pid cannot be that of another process: it stays in use until the status is taken.
        int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid_, 0));
        if (pidfd >= 0) process.pidfd_ = Descriptor::adopt_nonblocking(pidfd, Flow::Unknown);
    }
#endif
    process.input_ = std::move(pipes[0].ours);
    process.output_ = std::move(pipes[1].ours);
    process.errors_ = std::move(pipes[2].ours);
    return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      status_(other.status_),
      pidfd_(std::move(other.pidfd_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

Process& Process::operator=(Process&& other) noexcept {
    if (this == &other) return *this;
    end();
    pid_ = std::exchange(other.pid_, 0);
    status_ = other.status_;
    pidfd_ = std::move(other.pidfd_);
    input_ = std::move(other.input_);
    output_ = std::move(other.output_);
    errors_ = std::move(other.errors_);
    return *this;
}

Process::~Process() { end(); }

// True if the child has ended; then status_ is set.
Result<bool> Process::take_status() {
    WEFT_ASSERT(pid_ > 0 && !status_, "a status is taken once, of a child");
    siginfo_t info{};
    if (int error = ask_status(pid_, WNOHANG, info); error != 0) {
        // SIGCHLD is ignored in this process, or somebody else has waited for all children.
        status_ = ExitStatus{-1, 0};
        return Error::from_errno(error, "the status of the child was taken by somebody else");
    }
    if (info.si_pid == 0) return false;
    status_ =
        info.si_code == CLD_EXITED ? ExitStatus{info.si_status, 0} : ExitStatus{0, info.si_status};
    return true;
}

Result<ExitStatus> Process::wait(Deadline deadline) {
    if (status_) return *status_;
    if (pid_ == 0) return ErrorKind::Closed;
    if (pidfd_.is_open()) {
        for (;;) {
            bool ended = WEFT_TRY(take_status());
            if (ended) return *status_;
            WEFT_TRY(pidfd_.wait_readable(deadline));
        }
    }
    // Opened before the first look, so that an end after it is seen.
    SignalWatch watch = WEFT_TRY(SignalWatch::open({SIGCHLD}));
    for (;;) {
        bool ended = WEFT_TRY(take_status());
        if (ended) return *status_;
        WEFT_TRY(watch.wait(deadline));
    }
}

Result<void> Process::kill(int signal) {
    if (status_ || pid_ == 0) return Error::from_errno(ESRCH, "kill: the process has ended");
    WEFT_ASSERT(pid_ > 0, "kill(2) takes other numbers for groups of processes");
    // The status has not been taken, so the number is still the child's.
    if (::kill(pid_, signal) != 0)
        return Error::from_errno(errno).with_context("kill", "process " + std::to_string(pid_));
    return {};
}

void Process::end() {
    if (pid_ == 0 || status_) return;
    pid_t pid = std::exchange(pid_, 0);
    WEFT_ASSERT(pid > 0, "kill(2) takes other numbers for groups of processes");
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    if (ask_status(pid, WNOHANG, info) != 0 || info.si_pid != 0) return;
    // The end of a large process takes time, and a destructor cannot park.
    auto take = [pid] {
        siginfo_t ignored{};
        ask_status(pid, 0, ignored);
    };
    if (BlockingPool* pool = blocking_internal::pool_here()) return pool->run_detached(take);
    take();
}

}  // namespace weft
