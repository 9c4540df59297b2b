// The reactor on epoll: works on every kernel, and a poll without waiting is one system call.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/io/reactor.h"
#include "weft/fiber/io/system_call.h"
#include "weft/fiber/io/wake_state.h"

namespace weft {
namespace {

constexpr Ticket kWakeTicket{};  // generation 0 is nobody's
constexpr std::size_t kBatchMax = 128;
constexpr std::uint32_t kInterest = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

std::uint8_t to_events(std::uint32_t mask) {
    // The fast path for nearly all events.
    static_assert(unsigned{EPOLLIN} == kReadable && unsigned{EPOLLOUT} == kWritable << 1);
    unsigned events = (mask & EPOLLIN) | (mask & EPOLLOUT) >> 1;
    if (!(mask & ~(EPOLLIN | EPOLLOUT))) [[likely]]
        return static_cast<std::uint8_t>(events);
    if (mask & EPOLLPRI) events |= kReadable;
    if (mask & EPOLLRDHUP) events |= kReadable | kHangUp;
    if (mask & EPOLLHUP) events |= kReadable | kWritable | kHangUp;
    if (mask & EPOLLERR) events |= kReadable | kWritable | kFailed;
    return static_cast<std::uint8_t>(events);
}

// An interrupted or failed call counts as no event: the caller polls again anyway.
int wait_ms(int epoll_fd, epoll_event* events, int count, int timeout_ms) {
    if (uses_library_calls()) return ::epoll_wait(epoll_fd, events, count, timeout_ms);
    return static_cast<int>(
        system_call(SYS_epoll_pwait, epoll_fd, events, count, timeout_ms, nullptr, std::size_t{0}));
}

class EpollReactor final : public Reactor {
public:
    EpollReactor(int epoll_fd, int event_fd) : epoll_fd_(epoll_fd), event_fd_(event_fd) {}
    ~EpollReactor() override {
        ::close(event_fd_);
        ::close(epoll_fd_);
    }

    const char* name() const override { return "epoll"; }
    Result<void> add(int fd, Ticket registration) override;
    void remove(int fd, Ticket registration) override;
    std::size_t poll(std::span<IoEvent> events, std::int64_t deadline_ns) override;
    std::size_t poll_for_owner(std::span<IoEvent> events) override;
    void wake() override;

private:
    static constexpr std::int64_t kNoWait = 0;

    using Batch = std::array<epoll_event, kBatchMax>;

    std::size_t gather(std::span<IoEvent> events, Batch& batch, std::int64_t timeout_ns,
                       bool& saw_wake);
    int wait(epoll_event* events, int count, std::int64_t timeout_ns);

    const int epoll_fd_;
    const int event_fd_;  // edge-triggered and never read: each write is a new edge
    WakeState wake_state_;
    Atomic<bool> has_pwait2_{true};
    Batch batch_;  // for the owner; not on its stack, which may be that of a fiber
};

Result<void> EpollReactor::add(int fd, Ticket registration) {
    epoll_event event{};
    event.events = kInterest;
    event.data.u64 = registration.as_u64();
    if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0) return {};
    // An earlier owner of the open file has closed its descriptor without removing it here.
    if (errno == EEXIST && ::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0) return {};
    if (errno == ENOSPC)
        return Error(ErrorKind::Limit, ENOSPC,
                     "watch a descriptor: the user watches too many (fs.epoll.max_user_watches)");
    return Error::from_errno(errno);
}

void EpollReactor::remove(int fd, Ticket registration) {
    static_cast<void>(registration);
    epoll_event unused{};
    ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, &unused);
}

std::size_t EpollReactor::poll(std::span<IoEvent> events, std::int64_t deadline_ns) {
    bool saw_wake = false;
    std::int64_t timeout_ns = kNoWait;
    if (deadline_ns == kNeverNs) {
        timeout_ns = kNeverNs;
    } else if (deadline_ns > 0) {
        timeout_ns = deadline_ns - env::now_ns();
    }
    if (timeout_ns <= 0 || !wake_state_.begin_sleep())
        return gather(events, batch_, kNoWait, saw_wake);
    std::size_t count = gather(events, batch_, timeout_ns, saw_wake);
    wake_state_.end_sleep();
    return count;
}

std::size_t EpollReactor::poll_for_owner(std::span<IoEvent> events) {
    bool saw_wake = false;
    Batch batch;
    std::size_t count = gather(events, batch, kNoWait, saw_wake);
    // The owner may sleep by now, and this poll has consumed the edge that was to wake it.
    if (saw_wake && wake_state_.still_needed()) ::eventfd_write(event_fd_, 1);
    return count;
}

void EpollReactor::wake() {
    if (wake_state_.notify()) ::eventfd_write(event_fd_, 1);
}

std::size_t EpollReactor::gather(std::span<IoEvent> events, Batch& batch, std::int64_t timeout_ns,
                                 bool& saw_wake) {
    std::size_t room = std::min(events.size(), batch.size());
    int found = wait(batch.data(), static_cast<int>(room), timeout_ns);
    WEFT_ASSERT(found <= static_cast<int>(room), "the kernel gives no more than there is room for");
    std::size_t count = 0;
    for (int i = 0; i < found; ++i) {
        Ticket ticket = Ticket::from_u64(batch[static_cast<std::size_t>(i)].data.u64);
        if (ticket.is_none()) {  // a wake-up, or the ring of the mixed reactor
            saw_wake = saw_wake || ticket == kWakeTicket;
            continue;
        }
        std::uint8_t mask = to_events(batch[static_cast<std::size_t>(i)].events);
        events[count++] = IoEvent{ticket, mask};
    }
    return count;
}

// Returns like wait_ms().
int EpollReactor::wait(epoll_event* events, int count, std::int64_t timeout_ns) {
    if (timeout_ns <= 0) return wait_ms(epoll_fd_, events, count, 0);
    if (timeout_ns == kNeverNs) return wait_ms(epoll_fd_, events, count, -1);
#ifdef SYS_epoll_pwait2
    // Relaxed: a hint; a thread that misses it makes one failing call more.
    if (has_pwait2_.load(std::memory_order_relaxed)) {
        timespec timeout{};
        timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
        timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
        long found = system_call(SYS_epoll_pwait2, epoll_fd_, events, count, &timeout, nullptr,
                                 std::size_t{0});
        if (found != -ENOSYS) return static_cast<int>(found);
        has_pwait2_.store(false, std::memory_order_relaxed);
    }
#endif
    // Rounded up: it may return late by less than a millisecond, but never early.
    std::int64_t timeout_ms = (timeout_ns - 1) / 1'000'000 + 1;
    constexpr std::int64_t timeout_ms_max = 1 << 30;
    if (timeout_ms > timeout_ms_max) timeout_ms = timeout_ms_max;
    return wait_ms(epoll_fd_, events, count, static_cast<int>(timeout_ms));
}

}  // namespace

Result<std::unique_ptr<Reactor>> reactors::make_epoll() {
    int epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) return Error::from_errno(errno);
    int event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_fd < 0) {
        Error error = Error::from_errno(errno);
        ::close(epoll_fd);
        return error;
    }
    auto reactor = std::make_unique<EpollReactor>(epoll_fd, event_fd);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = kWakeTicket.as_u64();
    if (::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &event) != 0)
        return Error::from_errno(errno);
    return reactor;
}

}  // namespace weft
