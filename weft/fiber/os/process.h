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
// exit status, so that no zombie remains. The child inherits no descriptors except the three
// streams and those in `inherited`; it starts with no signal blocked.
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

// How the end of a child is noticed. Best uses a pidfd, and Signal on kernels without them (before
// 5.3). With Signal, Weft handles SIGCHLD while somebody waits.
enum class ChildWatch : std::uint8_t { Best, Signal };

// A child in a group of its own does not get the signals that a terminal sends to its parent.
enum class ProcessGroup : std::uint8_t { Parents, Own };

struct ProcessOptions {
    // The program first; a name without a slash is searched in PATH.
    std::vector<std::string> arguments;
    // "NAME=value" each; if absent, the environment of this process.
    std::optional<std::vector<std::string>> environment = std::nullopt;
    std::vector<std::string> added_environment = {};  // in addition to that
    std::string directory = {};                       // if empty, that of this process
    ChildStream input = ChildStream::Inherit;
    ChildStream output = ChildStream::Inherit;
    ChildStream errors = ChildStream::Inherit;
    ChildWatch watch = ChildWatch::Best;
    // Descriptors of this process, which keeps them: the child gets copies as 3, 4 and so on.
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
    // Our ends of the pipes; closed Descriptors for streams that are not pipes.
    Descriptor& input() { return input_; }
    Descriptor& output() { return output_; }
    Descriptor& errors() { return errors_; }

    // Waits for the end of the child; later calls return the same status. Does not read the pipes:
    // if the child writes more than they hold, somebody must read them, or the child never ends.
    Result<ExitStatus> wait(Deadline deadline = Deadline::never());
    // Other with ESRCH once wait() has given the status.
    Result<void> kill(int signal);

private:
    Process() = default;

    Result<bool> take_status();
    void end();

    pid_t pid_ = 0;  // 0: moved from, or ended. While status_ is empty, wait() has to take it
    std::optional<ExitStatus> status_;
    Descriptor pidfd_;
    Descriptor input_;
    Descriptor output_;
    Descriptor errors_;
};

}  // namespace weft
