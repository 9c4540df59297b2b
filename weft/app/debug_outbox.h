// DebugOutbox: the queue of messages from an isolate to a client of its debugger.
//
// Any thread adds; one fiber calls next() and sends.
#pragma once

// tidy: allow-file threads: the isolate's thread adds where it cannot wait

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "weft/sync/event.h"

namespace weft::app {

class DebugOutbox {
public:
    // Enough for a snapshot of a large heap. Beyond it the queue ends, and with it the session.
    static constexpr std::size_t kBytesMax = std::size_t{1024} * 1024 * 1024;

    // Never waits.
    void add(std::string_view json);
    // No more messages are added.
    void end();
    // Waits for the next message. Empty: the queue has ended and is empty, or the fiber is
    // cancelled.
    std::optional<std::string> next();

private:
    std::mutex lock_;
    std::deque<std::string> texts_;
    std::size_t bytes_ = 0;
    bool ended_ = false;
    Event came_;
};

}  // namespace weft::app
