// A test's server in a process of its own, because the test kills it or needs all descriptors of a
// process: the same test program, started again to run one test that is disabled otherwise.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/base/bytes.h"
#include "weft/fiber/io.h"
#include "weft/fiber/os/process.h"

namespace weft::testing {

struct ServerProcess {
    Process process;
    std::uint16_t port;

    // The server ends at the end of its input.
    void stop() { process.input().close(); }
};

// So far in the future that only a broken test reaches it, also with ten thousand connections.
inline Deadline far() { return Deadline::after(std::chrono::seconds(300)); }

// In the server's process: writes the port that it listens on, and returns when it shall end.
inline Result<void> say_port_and_await_end(std::uint16_t port) {
    Descriptor input = WEFT_TRY(Descriptor::adopt(0));
    Descriptor output = WEFT_TRY(Descriptor::adopt(1));
    std::string line = "\nport " + std::to_string(port) + "\n";
    Result<void> said = output.write_all(as_bytes(line));
    std::byte byte[1];
    if (said) static_cast<void>(input.read(byte, far()));
    // The two descriptors belong to the process and stay open.
    static_cast<void>(output.release());
    static_cast<void>(input.release());
    return said;
}

// `test` is the disabled test that serves, as "Suite.DISABLED_name".
inline Result<ServerProcess> start_server_process(const std::string& test) {
    Process process =
        WEFT_TRY(Process::spawn({.arguments = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                               "--gtest_filter=" + test},
                                 .input = ChildStream::Pipe,
                                 .output = ChildStream::Pipe}));
    std::string text;
    for (;;) {
        std::byte buffer[256];
        std::size_t count = WEFT_TRY(process.output().read(buffer, far()));
        if (count == 0) return Error(ErrorKind::Closed, "the server has ended: " + text);
        text += as_text(Bytes(buffer).first(count));
        std::size_t at = text.find("\nport ");
        if (at == text.npos || text.find('\n', at + 6) == text.npos) continue;
        std::uint16_t port = 0;
        std::from_chars(text.data() + at + 6, text.data() + text.size(), port);
        return ServerProcess{std::move(process), port};
    }
}

}  // namespace weft::testing
