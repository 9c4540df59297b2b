#include "weft/api/console/output.h"

// tidy: allow-file foreign: the thread waits for a terminal or pipe that takes no more
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "weft/base/format.h"

namespace weft::api {
namespace {

// When poll() reports a pipe writable, this many bytes (PIPE_BUF) can be written without blocking,
// also to a blocking descriptor.
constexpr std::size_t kPieceBytes = 4096;

}  // namespace

void ConsoleOutput::write(int fd, std::string_view text) {
    if (stuck_ && dropped_ > 0) {
        std::string told =
            format("\nweft: {} texts were dropped here, as nobody read them\n", dropped_);
        if (!write_some(fd, told).empty()) {
            ++dropped_;
            return;
        }
        dropped_ = 0;
    }
    stuck_ = !write_some(fd, text).empty();
    if (stuck_) ++dropped_;
}

std::string_view ConsoleOutput::write_some(int fd, std::string_view text) {
    while (!text.empty()) {
        if (!wait_for_room(fd)) return text;
        std::size_t piece =
            when_stuck_ == WhenStuck::Wait ? text.size() : std::min(text.size(), kPieceBytes);
        ssize_t written = ::write(fd, text.data(), piece);
        if (written >= 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EAGAIN && errno != EINTR)
            return {};  // nobody can read it any more
    }
    return {};
}

// Losing output is worse than a script that waits for its reader.
bool ConsoleOutput::wait_for_room(int fd) const {
    pollfd room{fd, POLLOUT, 0};
    int wait_ms = -1;
    if (when_stuck_ == WhenStuck::Drop)
        wait_ms = stuck_ ? 0 : static_cast<int>(kStuckReaderWait.count());
    int ready = 0;
    do ready = ::poll(&room, 1, wait_ms);
    while (ready < 0 && errno == EINTR);
    return ready != 0;
}

}  // namespace weft::api
