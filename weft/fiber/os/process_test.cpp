#include "weft/fiber/os/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? ErrorKind::Other : result.error().kind();
}

Result<std::string> read_to_end(Descriptor& descriptor) {
    std::string text;
    std::byte buffer[1000];
    for (;;) {
        std::size_t count = WEFT_TRY(descriptor.read(buffer));
        if (count == 0) return text;
        text.append(reinterpret_cast<const char*>(buffer), count);
    }
}

ProcessOptions shell(std::string script) {
    return {.arguments = {"sh", "-c", std::move(script)}, .output = ChildStream::Pipe};
}

// Neither a running child nor a zombie.
bool has_no_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

std::size_t count_fds() {
    std::size_t count = 0;
    DIR* directory = ::opendir("/proc/self/fd");
    while (::readdir(directory)) ++count;
    ::closedir(directory);
    return count;
}

// On a fiber and on a plain thread.
class ProcessTest : public testing::Test {
protected:
    template <class Body>
    void on_fiber_and_thread(Body body) {
        Result<void> result = run(body, {.workers = 1});
        EXPECT_TRUE(result) << "on a fiber: " << result.error().message();
        EXPECT_TRUE(has_no_children());
        result = body();
        EXPECT_TRUE(result) << "on a thread: " << result.error().message();
        EXPECT_TRUE(has_no_children());
    }
};

TEST_F(ProcessTest, NET_3b_an_error_names_the_program_and_the_folder) {
    on_fiber_and_thread([]() -> Result<void> {
        Result<Process> none = Process::spawn({.arguments = {"no-such-program"}});
        EXPECT_EQ(kind_of(none), ErrorKind::NotFound);
        EXPECT_EQ(none.error().message(), "start no-such-program: No such file or directory");
        none = Process::spawn({.arguments = {"true"}, .directory = "/no/such/folder"});
        EXPECT_EQ(none.error().message(),
                  "start true in /no/such/folder: No such file or directory");
        EXPECT_EQ(kind_of(Process::spawn({.arguments = {"/etc/passwd"}})),
                  ErrorKind::PermissionDenied);
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_output_and_exit_code_arrive) {
    on_fiber_and_thread([]() -> Result<void> {
        Process child = WEFT_TRY(Process::spawn(shell("echo hello; exit 3")));
        EXPECT_EQ(WEFT_TRY(read_to_end(child.output())), "hello\n");
        EXPECT_EQ(WEFT_TRY(child.wait()), (ExitStatus{3, 0}));
        EXPECT_EQ(WEFT_TRY(child.wait()), (ExitStatus{3, 0}));  // again the same
        EXPECT_FALSE(child.input().is_open());
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_all_three_streams_are_piped) {
    on_fiber_and_thread([]() -> Result<void> {
        Process child = WEFT_TRY(Process::spawn({.arguments = {"sh", "-c", "cat; echo oops >&2"},
                                                 .input = ChildStream::Pipe,
                                                 .output = ChildStream::Pipe,
                                                 .errors = ChildStream::Pipe}));
        WEFT_TRY(child.input().write_all(as_bytes("through the child")));
        child.input().close();
        EXPECT_EQ(WEFT_TRY(read_to_end(child.output())), "through the child");
        EXPECT_EQ(WEFT_TRY(read_to_end(child.errors())), "oops\n");
        EXPECT_TRUE(WEFT_TRY(child.wait()).is_success());
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_what_is_added_to_the_environment_comes_besides_it) {
    on_fiber_and_thread([]() -> Result<void> {
        ProcessOptions options = shell("echo ${PATH:+path} $ADDED");
        options.added_environment = {"ADDED=added"};
        Process child = WEFT_TRY(Process::spawn(options));
        EXPECT_EQ(WEFT_TRY(read_to_end(child.output())), "path added\n");
        EXPECT_TRUE(WEFT_TRY(child.wait()).is_success());
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_descriptors_that_are_named_are_inherited_in_their_order) {
    on_fiber_and_thread([]() -> Result<void> {
        Pipe one = WEFT_TRY(make_pipe());
        Pipe two = WEFT_TRY(make_pipe());
        ProcessOptions options = shell("echo one >&3; echo two >&4; (echo x >&5) 2>&- || echo no");
        // Also where the numbers that the child has are taken here by others.
        options.inherited = {one.writer.fd(), two.writer.fd()};
        options.group = ProcessGroup::Own;
        Process child = WEFT_TRY(Process::spawn(options));
        one.writer.close();
        two.writer.close();
        EXPECT_EQ(WEFT_TRY(read_to_end(one.reader)), "one\n");
        EXPECT_EQ(WEFT_TRY(read_to_end(two.reader)), "two\n");
        EXPECT_EQ(WEFT_TRY(read_to_end(child.output())), "no\n");
        EXPECT_TRUE(WEFT_TRY(child.wait()).is_success());
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_a_stream_without_a_partner_is_empty) {
    on_fiber_and_thread([]() -> Result<void> {
        Process child = WEFT_TRY(Process::spawn({.arguments = {"sh", "-c", "cat; echo gone"},
                                                 .input = ChildStream::Null,
                                                 .output = ChildStream::Null}));
        EXPECT_TRUE(WEFT_TRY(child.wait()).is_success());
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_a_missing_program_is_an_error) {
    on_fiber_and_thread([]() -> Result<void> {
        std::size_t before = count_fds();
        Result<Process> none = Process::spawn({.arguments = {"no-such-program-anywhere"},
                                               .input = ChildStream::Pipe,
                                               .output = ChildStream::Pipe});
        EXPECT_EQ(none.error().native_code(), ENOENT);
        Result<Process> folder = Process::spawn({.arguments = {"/etc"}});
        EXPECT_EQ(folder.error().native_code(), EACCES);
        Result<Process> nowhere =
            Process::spawn({.arguments = {"true"}, .directory = "/no/such/folder"});
        EXPECT_EQ(nowhere.error().native_code(), ENOENT);
        EXPECT_EQ(kind_of(Process::spawn({.arguments = {}})), ErrorKind::Misuse);
        EXPECT_EQ(count_fds(), before);
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_a_killed_child_says_by_what) {
    on_fiber_and_thread([]() -> Result<void> {
        Process child = WEFT_TRY(Process::spawn({.arguments = {"sleep", "1000"}}));
        WEFT_TRY(child.kill(SIGTERM));
        EXPECT_EQ(WEFT_TRY(child.wait()), (ExitStatus{0, SIGTERM}));
        EXPECT_EQ(child.kill(SIGTERM).error().native_code(), ESRCH);
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_environment_and_directory_are_set) {
    on_fiber_and_thread([]() -> Result<void> {
        ProcessOptions options = shell("echo $GREETING $HOME; pwd");
        options.environment = {"GREETING=hello", "PATH=/usr/bin:/bin"};
        options.directory = "/usr";
        Process child = WEFT_TRY(Process::spawn(options));
        EXPECT_EQ(WEFT_TRY(read_to_end(child.output())), "hello\n/usr\n");
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_waiting_times_out_and_is_cancelled) {
    on_fiber_and_thread([]() -> Result<void> {
        for (ChildWatch watch : {ChildWatch::Best, ChildWatch::Signal}) {
            Process child =
                WEFT_TRY(Process::spawn({.arguments = {"sleep", "1000"}, .watch = watch}));
            EXPECT_EQ(kind_of(child.wait(Deadline::after(milliseconds(2)))), ErrorKind::TimedOut);
            CancelSource source;
            source.cancel();
            {
                CancelScope scope(source.token());
                EXPECT_EQ(kind_of(child.wait()), ErrorKind::Cancelled);
            }
            WEFT_TRY(child.kill(SIGKILL));
            EXPECT_EQ(WEFT_TRY(child.wait()), (ExitStatus{0, SIGKILL}));
        }
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_without_a_pidfd_the_signal_tells) {
    on_fiber_and_thread([]() -> Result<void> {
        for (int round = 0; round < 10; ++round) {
            ProcessOptions options = shell("exit 5");
            options.watch = ChildWatch::Signal;
            Process child = WEFT_TRY(Process::spawn(options));
            EXPECT_EQ(WEFT_TRY(child.wait(Deadline::after(seconds(20)))), (ExitStatus{5, 0}));
        }
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_a_dropped_child_is_killed_and_leaves_no_zombie) {
    on_fiber_and_thread([]() -> Result<void> {
        pid_t pid = 0;
        {
            Process child = WEFT_TRY(Process::spawn({.arguments = {"sleep", "1000"}}));
            pid = child.pid();
            Process moved(std::move(child));
            EXPECT_EQ(moved.pid(), pid);
            EXPECT_EQ(kind_of(child.wait()), ErrorKind::Closed);
        }
        EXPECT_NE(pid, 0);
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_the_child_inherits_nothing_else) {
    // This test may have inherited descriptors from its parent.
    std::set<int> inherited{0, 1, 2};
    for (int fd = 3; fd < 1024; ++fd) {
        int flags = ::fcntl(fd, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC)) inherited.insert(fd);
    }
    on_fiber_and_thread([&]() -> Result<void> {
        Pipe ours = WEFT_TRY(make_pipe());
        Process child = WEFT_TRY(Process::spawn({.arguments = {"ls", "/proc/self/fd"},
                                                 .input = ChildStream::Pipe,
                                                 .output = ChildStream::Pipe}));
        std::istringstream list(WEFT_TRY(read_to_end(child.output())));
        int others = 0;
        for (int fd = 0; list >> fd;) others += inherited.contains(fd) ? 0 : 1;
        EXPECT_EQ(others, 1);  // the folder that it lists
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_the_child_starts_with_no_signal_blocked) {
    on_fiber_and_thread([]() -> Result<void> {
        Process child = WEFT_TRY(Process::spawn(
            {.arguments = {"grep", "SigBlk", "/proc/self/status"}, .output = ChildStream::Pipe}));
        EXPECT_EQ(WEFT_TRY(read_to_end(child.output())), "SigBlk:\t0000000000000000\n");
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_no_descriptor_leaks) {
    on_fiber_and_thread([]() -> Result<void> {
        Process first = WEFT_TRY(Process::spawn(shell("true")));  // what stays open, is open now
        WEFT_TRY(first.wait());
        std::size_t before = count_fds();
        for (int i = 0; i < 5; ++i) {
            Process child = WEFT_TRY(Process::spawn(shell("true")));
            WEFT_TRY(child.wait());
        }
        EXPECT_EQ(count_fds(), before);
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_out_of_descriptors_is_told) {
    on_fiber_and_thread([]() -> Result<void> {
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        rlimit few = before;
        few.rlim_cur = 3;
        ::setrlimit(RLIMIT_NOFILE, &few);
        Result<Process> child = Process::spawn(shell("true"));
        ::setrlimit(RLIMIT_NOFILE, &before);
        EXPECT_EQ(kind_of(child), ErrorKind::OutOfFds);
        return {};
    });
}

TEST_F(ProcessTest, RCT_6_many_children_run_at_once_on_one_worker) {
    Result<void> result = run(
        []() -> Result<void> {
            std::vector<Future<int>> fibers;
            for (int i = 0; i < 20; ++i) {
                fibers.push_back(spawn([i]() -> Result<int> {
                    Process child = WEFT_TRY(
                        Process::spawn(shell("cat >/dev/null; exit " + std::to_string(i))));
                    WEFT_TRY(read_to_end(child.output()));
                    return WEFT_TRY(child.wait())
                    .code;
                }));
            }
            int sum = 0;
            for (Future<int>& fiber : fibers) sum += WEFT_TRY(fiber.join());
            EXPECT_EQ(sum, 190);
            return {};
        },
        {.workers = 1});
    EXPECT_TRUE(result) << result.error().message();
    EXPECT_TRUE(has_no_children());
}

TEST_F(ProcessTest, RCT_6b_waiting_for_a_child_parks_the_fiber) {
    for (ChildWatch watch : {ChildWatch::Best, ChildWatch::Signal}) {
        Result<void> result = run(
            [watch]() -> Result<void> {
                // The child ends when its input does, which only the other fiber of the one worker
                // can bring about, while the first one waits.
                ProcessOptions options;
                options.arguments = {"cat"};
                options.input = ChildStream::Pipe;
                options.output = ChildStream::Null;
                options.watch = watch;
                Process child = WEFT_TRY(Process::spawn(options));
                auto other = spawn([&] { child.input().close(); });
                EXPECT_TRUE(WEFT_TRY(child.wait(Deadline::after(seconds(20)))).is_success());
                return other.join();
            },
            {.workers = 1});
        EXPECT_TRUE(result) << result.error().message();
    }
}

}  // namespace
}  // namespace weft
