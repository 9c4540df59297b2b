// Reactor: where a worker waits for descriptors, for time and for other workers.
//
// One per worker. Descriptors are registered once, edge-triggered; an event names the registration
// by ticket, so that an event that was under way when its descriptor was closed finds nobody.
// poll() is called by the owner, and without waiting by an idle worker when the owner is stuck in a
// fiber: implementations serialise the two. wake() comes from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/base/result.h"
#include "weft/base/ticket.h"
#include "weft/base/time.h"

namespace weft {

struct FileRequest;

enum IoEvents : std::uint8_t {
    kReadable = 1,
    kWritable = 2,
    kHangUp = 4,   // the other side sends no more; comes with kReadable
    kFailed = 8,   // an error is pending; comes with kReadable and kWritable
    kEnded = 16,   // the reactor has dropped the registration by itself: add() it again
    kClosed = 32,  // from IoTable, never from a reactor: the descriptor was closed by its owner
};

struct IoEvent {
    Ticket registration;
    std::uint8_t events = 0;  // IoEvents
};

class Reactor {
public:
    virtual ~Reactor() = default;

    virtual const char* name() const = 0;

    // Any thread. `registration` comes back with each event, the first one as soon as the
    // descriptor is found ready. Its generation is not 0 and has at most 31 bits; the reactor needs
    // the rest.
    virtual Result<void> add(int fd, Ticket registration) = 0;
    // Any thread; before the descriptor is closed. Events under way may still come.
    virtual void remove(int fd, Ticket registration) = 0;

    // Waits until an event, a wake() or `deadline_ns`; gathers at most events.size() events.
    // A deadline in the past (0) looks without waiting. Finished file requests are resumed in it.
    virtual std::size_t poll(std::span<IoEvent> events, std::int64_t deadline_ns) = 0;
    // Another worker looks, without waiting. Nothing if the owner is in poll() itself.
    virtual std::size_t poll_for_owner(std::span<IoEvent> events) = 0;

    // Any thread: ends the owner's poll(), or makes its next one return at once.
    virtual void wake() = 0;

    // File requests that complete by themselves. False: not here, use the blocking pool.
    virtual bool submit(FileRequest& request) {
        static_cast<void>(request);
        return false;
    }
    // Asks for an early end; the request still completes, perhaps with ECANCELED.
    virtual void cancel(FileRequest& request) { static_cast<void>(request); }
};

namespace reactors {

// WEFT_REACTOR=epoll|io_uring|mixed; the best that works by default.
Result<std::unique_ptr<Reactor>> make_default();
Result<std::unique_ptr<Reactor>> make_epoll();
// Unavailable where the kernel or the build lacks io_uring.
Result<std::unique_ptr<Reactor>> make_uring();
Result<std::unique_ptr<Reactor>> make_mixed();  // epoll, but files by io_uring

}  // namespace reactors
}  // namespace weft
