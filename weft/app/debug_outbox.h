// DebugOutbox: what an isolate says to a client of its debugger, until a fiber has sent it.
//
// Any thread; next() by one fiber.
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
    // Room for a snapshot of a large heap. A client that takes nothing loses its session.
    static constexpr std::size_t kBytesMax = std::size_t{1024} * 1024 * 1024;

    // Does not wait.
    void add(std::string_view json);
    // Nothing more will come.
    void end();
    // Waits for the next. Nothing: it has ended and all was taken, or the fiber is cancelled.
    std::optional<std::string> next();

private:
    std::mutex lock_;
    std::deque<std::string> texts_;
    std::size_t bytes_ = 0;
    bool ended_ = false;
    Event came_;
};

}  // namespace weft::app
