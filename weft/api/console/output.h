// ConsoleOutput: what one application writes to the standard output and error of the process.
//
// A script that is run by hand waits until its output is read (Wait), so none of it is lost. A
// server must not stop because the reader of its log did (Drop): what a pipe or terminal does not
// take in time is dropped and counted, and the count is written as soon as there is room again.
//
// Owning worker only. A wait blocks the whole worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::api {

class ConsoleOutput {
public:
    enum class WhenStuck : std::uint8_t { Wait, Drop };
    // How long the worker waits, once, for a reader that takes nothing. After that it writes only
    // what fits at once, until the reader goes on.
    static constexpr std::chrono::milliseconds kStuckReaderWait{250};

    explicit ConsoleOutput(WhenStuck when_stuck) : when_stuck_(when_stuck) {}

    void write(int fd, std::string_view text);
    std::uint64_t dropped() const { return dropped_; }

private:
    // Returns the part of the text that was not written; empty if all of it was.
    std::string_view write_some(int fd, std::string_view text);
    bool wait_for_room(int fd) const;

    WhenStuck when_stuck_;
    bool stuck_ = false;
    std::uint64_t dropped_ = 0;  // number of texts since the last one that was written completely
};

}  // namespace weft::api
