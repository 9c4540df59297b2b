// Reactor: where a worker waits for descriptors, for time and for other workers.
//
// One per worker, its owner. Descriptors are registered once, edge-triggered; an event names the
// registration by ticket, so that an event that was under way when its descriptor was closed is
// dropped. The owner calls poll(); an idle worker calls poll_for_owner() when the owner is stuck in
// a fiber: implementations must allow both at once. wake(): any thread.
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
    kClosed = 32,  // by IoTable, never by a reactor: the descriptor was closed
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

    // Waits for an event, a wake() or `deadline_ns`; returns at most events.size() events. With a
    // deadline in the past (0) it does not wait. It completes finished file requests. Owner only.
    virtual std::size_t poll(std::span<IoEvent> events, std::int64_t deadline_ns) = 0;
    // The same by another worker, without waiting. May return nothing while the owner polls.
    virtual std::size_t poll_for_owner(std::span<IoEvent> events) = 0;

    // Any thread: ends the owner's present poll(), or makes its next one return at once.
    virtual void wake() = 0;

    // Carries out a file request. False: this reactor does not; use the blocking pool.
    virtual bool submit(FileRequest& request) {
        static_cast<void>(request);
        return false;
    }
    // Asks for the early end of a submitted request, which still completes, perhaps with ECANCELED.
    virtual void cancel(FileRequest& request) { static_cast<void>(request); }
};

namespace reactors {

// The one that WEFT_REACTOR=epoll|io_uring|mixed selects; by default the best that works.
Result<std::unique_ptr<Reactor>> make_default();
Result<std::unique_ptr<Reactor>> make_epoll();
// Unavailable where the kernel or the build lacks io_uring.
Result<std::unique_ptr<Reactor>> make_uring();
Result<std::unique_ptr<Reactor>> make_mixed();  // epoll, but files by io_uring

}  // namespace reactors
}  // namespace weft
