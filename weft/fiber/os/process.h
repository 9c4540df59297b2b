// Child processes: spawning, talking to and waiting for them parks the fiber.
//
//     Process child = WEFT_TRY(Process::spawn({.arguments = {"sort"}, .input = ChildStream::Pipe,
//                                              .output = ChildStream::Pipe}));
//     WEFT_TRY(child.input().write_all(as_bytes("b\na\n")));
//     child.input().close();
//     std::size_t count = WEFT_TRY(child.output().read(buffer));
//     ExitStatus status = WEFT_TRY(child.wait());
//
// A child does not outlive its Process: the destructor kills it if it still runs, and takes its
// status, so that no zombie stays. The child inherits no descriptors but the three streams and
// those that are named; it starts with no signal blocked.
//
// Any fiber and any thread, one at a time; the three streams are Descriptors and may be used at the
// same time by others. Not in simulation (Unavailable).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/io.h"

namespace weft {

enum class ChildStream : std::uint8_t { Inherit, Null, Pipe };

// How the end of a child is noticed. Signal is for kernels without pidfds (before 5.3), where Best
// chooses it: SIGCHLD belongs to Weft then while somebody waits.
enum class ChildWatch : std::uint8_t { Best, Signal };

// A child in a group of its own does not get the signals that a terminal sends to its parent.
enum class ProcessGroup : std::uint8_t { Parents, Own };

struct ProcessOptions {
    // The program first; without a slash in it, it is looked up in PATH.
    std::vector<std::string> arguments;
    // "NAME=value" each; that of this process if absent.
    std::optional<std::vector<std::string>> environment = std::nullopt;
    std::vector<std::string> added_environment = {};  // besides that
    std::string directory = {};                       // that of this process if empty
    ChildStream input = ChildStream::Inherit;
    ChildStream output = ChildStream::Inherit;
    ChildStream errors = ChildStream::Inherit;
    ChildWatch watch = ChildWatch::Best;
    // Of this process, and still its own: the child has them as 3, 4 and so on.
    std::vector<int> inherited = {};
    ProcessGroup group = ProcessGroup::Parents;
};

struct ExitStatus {
    int code = 0;    // what it returned, when it ended by itself
    int signal = 0;  // what killed it; else 0

    bool is_success() const { return code == 0 && signal == 0; }
    friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

class Process {
public:
    // The error of a program that cannot be executed has the kernel's code, such as ENOENT.
    static Result<Process> spawn(const ProcessOptions& options);
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    ~Process();

    pid_t pid() const { return pid_; }
    // Ours of the pipes; closed Descriptors where no pipe was asked for.
    Descriptor& input() { return input_; }
    Descriptor& output() { return output_; }
    Descriptor& errors() { return errors_; }

    // How the child ended; later calls give the same. The pipes are not touched: somebody must read
    // them if the child writes more than they hold.
    Result<ExitStatus> wait(Deadline deadline = Deadline::never());
    // Other with ESRCH once wait() has given the status.
    Result<void> kill(int signal);

private:
    Process() = default;

    Result<bool> take_status();
    void end();

    pid_t pid_ = 0;  // of a child whose status is still to be taken; 0 after a move
    std::optional<ExitStatus> status_;
    Descriptor pidfd_;
    Descriptor input_;
    Descriptor output_;
    Descriptor errors_;
};

}  // namespace weft
