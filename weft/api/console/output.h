// ConsoleOutput: what one application writes to the process's own output.
//
// Whoever runs a script by hand sees all of it: output waits for its reader. A server must not stop
// because the reader of its log did: what a pipe or terminal does not take in time is dropped and
// counted, and the count is written once there is room again.
//
// Owner's thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::api {

class ConsoleOutput {
public:
    enum class WhenStuck : std::uint8_t { Wait, Drop };
    // So long the whole worker waits for a reader, once; then only what there is room for is
    // written until the reader goes on.
    static constexpr std::chrono::milliseconds kStuckReaderWait{250};

    explicit ConsoleOutput(WhenStuck when_stuck) : when_stuck_(when_stuck) {}

    void write(int fd, std::string_view text);
    std::uint64_t dropped() const { return dropped_; }

private:
    // What was not written: the text's end, empty if all was.
    std::string_view write_some(int fd, std::string_view text);
    bool wait_for_room(int fd) const;

    WhenStuck when_stuck_;
    bool stuck_ = false;
    std::uint64_t dropped_ = 0;  // texts, since the last one that was written whole
};

}  // namespace weft::api
