// When a signal is about to end the process in the middle of a simulated run, the seed and the
// command that repeats it are written to stderr first. The signal then goes to the handler that was
// installed before, or ends the process, with the same core file and the same status.
//
// The handlers are installed with the first run and stay; outside a run they only pass the signal
// on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weft::sim {

// The line that says how the runs of this thread are repeated, as long as this object lives. They
// nest.
class CrashReplay {
public:
    explicit CrashReplay(std::string line);
    ~CrashReplay();
    CrashReplay(const CrashReplay&) = delete;
    CrashReplay& operator=(const CrashReplay&) = delete;

    const std::string& line() const { return line_; }

private:
    const std::string line_;
    const CrashReplay* const outer_;
};

// Lives as long as a run on this thread.
class CrashWatch {
public:
    explicit CrashWatch(std::uint64_t seed);
    ~CrashWatch();
    CrashWatch(const CrashWatch&) = delete;
    CrashWatch& operator=(const CrashWatch&) = delete;

    const std::string& text() const { return text_; }

private:
    const std::string text_;
    std::unique_ptr<std::byte[]> stack_;  // of the handler; null if the thread had one already
};

}  // namespace weft::sim
