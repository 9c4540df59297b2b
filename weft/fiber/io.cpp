#include "weft/fiber/io.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io/io_table.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/turn.h"

namespace weft {
namespace {

constexpr int kCallCost = 2;  // of an operation with a system call; see turn::may_wait()
constexpr std::uint8_t kBoth = kReadable | kWritable;
constexpr Nanoseconds kSlice = std::chrono::milliseconds(10);

bool on_real_thread() { return !this_worker() && !env::current(); }

// A broken pipe is an error, not the end of the process. Workers have SIGPIPE blocked; a thread of
// the program blocks it for the call, and consumes the one that the call has caused.
[[gnu::noinline]] long write_without_signal(int fd, const void* begin, std::size_t size) {
    sigset_t broken_pipe;
    sigset_t pending;
    sigset_t before;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    long count = env::write(fd, begin, size);
    if (count == -EPIPE && !sigismember(&pending, SIGPIPE)) {
        timespec at_once{};
        while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {}
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return count;
}

// The system call for a flow.
struct ReadCall {
    Flow flow;
    std::span<std::byte> buffer;
    long operator()(int fd) const {
        if (flow == Flow::StreamSocket) return env::receive(fd, buffer.data(), buffer.size());
        return env::read(fd, buffer.data(), buffer.size());
    }
};
struct WriteCall {
    Flow flow;
    std::span<const std::byte> bytes;
    long operator()(int fd) const {
        if (flow == Flow::StreamSocket) return env::send(fd, bytes.data(), bytes.size());
        if (on_real_thread()) return write_without_signal(fd, bytes.data(), bytes.size());
        return env::write(fd, bytes.data(), bytes.size());
    }
};

[[gnu::noinline]] bool is_ready_now(int fd, std::uint8_t direction) {
    pollfd entry{};
    entry.fd = fd;
    entry.events = direction == kReadable ? POLLIN | POLLRDHUP : POLLOUT;
    return ::poll(&entry, 1, 0) != 0;  // an error is for the operation to report
}

// Functions that read errno stay out of line: their callers wait, and may resume on another thread.
[[gnu::noinline]] int make_nonblocking(int fd, Flow& flow) {
    int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return errno;
    if (!(flags & O_NONBLOCK) && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return errno;
    struct stat status{};
    flow = Flow::Unknown;
    if (::fstat(fd, &status) != 0) return errno;
    // In packet mode a pipe is read packet by packet. Whether a socket is a stream only its creator
    // knows.
    if (S_ISFIFO(status.st_mode) && !(flags & O_DIRECT)) flow = Flow::Stream;
    return 0;
}

}  // namespace

// A plain thread that waits in poll(2). To end the wait early, close() and cancellation write to
// its event descriptor.
struct Descriptor::ThreadWait {
    ThreadWait() : event_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~ThreadWait() {
        if (event_fd >= 0) ::close(event_fd);
    }
    ThreadWait(const ThreadWait&) = delete;
    ThreadWait& operator=(const ThreadWait&) = delete;

    struct Listener : CancelListener {
        explicit Listener(int fd) : CancelListener(on_cancel), event_fd(fd) {}
        static void on_cancel(CancelListener& listener, CancelReason) {
            ::eventfd_write(static_cast<Listener&>(listener).event_fd, 1);
        }
        int event_fd;
    };

    // True when ready. Without an event descriptor (the process may have none left) it returns
    // after kSlice at the latest, so that the caller checks for a close or a cancellation.
    bool wait(int fd, std::uint8_t direction, Deadline until) const;

    int event_fd;
    ThreadWait* next = nullptr;
};

bool Descriptor::ThreadWait::wait(int fd, std::uint8_t direction, Deadline until) const {
    pollfd entries[2] = {};
    entries[0].fd = fd;
    entries[0].events = direction == kReadable ? POLLIN | POLLRDHUP : POLLOUT;
    entries[1].fd = event_fd;
    entries[1].events = POLLIN;
    Nanoseconds left = until.remaining(Clock::now());
    if (event_fd < 0 && left > kSlice) left = kSlice;
    timespec timeout{};
    timeout.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
    bool for_ever = left == Nanoseconds::max();
    int found = ::ppoll(entries, event_fd < 0 ? 1 : 2, for_ever ? nullptr : &timeout, nullptr);
    return found > 0 && entries[0].revents != 0;
}

class Descriptor::Use {
public:
    [[gnu::always_inline]] explicit Use(Descriptor& descriptor)
        : descriptor_(descriptor), entry_(descriptor.uses_.begin(this_worker())) {}
    [[gnu::always_inline]] ~Use() {
        // this_worker() anew: the fiber may have moved to another worker.
        if (entry_ != Entry::Refused && descriptor_.uses_.end(this_worker())) [[unlikely]]
            descriptor_.finish_close();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const { return entry_ == Entry::Entered; }

private:
    using Entry = UseCount::Entry;

    Descriptor& descriptor_;
    const Entry entry_;
};

// ---------------------------------------------------------------- owning

Descriptor::Descriptor(int fd, Flow flow) : fd_(fd), flow_(flow), uses_(UseCount::make_open()) {}

Result<Descriptor> Descriptor::adopt(int fd) {
    if (env::current()) return Descriptor(fd, Flow::Unknown);
    Flow flow = Flow::Unknown;
    if (int error = make_nonblocking(fd, flow); error != 0) return Error::from_errno(error);
    return Descriptor(fd, flow);
}

Descriptor Descriptor::adopt_nonblocking(int fd, Flow flow) { return Descriptor(fd, flow); }

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      flow_(other.flow_),
      uses_(std::move(other.uses_)),
      // Relaxed, here and below: the owner moves it, and nobody else is in a call.
      registration_(other.registration_.exchange(nullptr, std::memory_order_relaxed)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this == &other) return *this;
    close();
    WEFT_ASSERT(uses_.is_idle(), "a descriptor was replaced during a call on it");
    fd_ = std::exchange(other.fd_, -1);
    flow_ = other.flow_;
    uses_ = std::move(other.uses_);
    // Relaxed: as above.
    registration_.store(other.registration_.exchange(nullptr, std::memory_order_relaxed),
                        std::memory_order_relaxed);
    return *this;
}

Descriptor::~Descriptor() {
    close();
    WEFT_ASSERT(uses_.is_idle(), "a descriptor was destroyed during a call on it");
}

bool Descriptor::is_open() const { return !uses_.is_closed(); }

void Descriptor::close() {
    Use use(*this);
    // The mark is set before the registration is read; a call that makes a registration publishes
    // it before it tests the mark (seq_cst). So either this retires it, or that call sees the mark.
    if (!use || !uses_.close()) return;
    IoRegistration* registration = registration_.load(std::memory_order_seq_cst);
    if (registration) registration->retire();
    SpinGuard guard(threads_lock_);
    for (ThreadWait* wait = threads_; wait; wait = wait->next) {
        if (wait->event_fd >= 0) ::eventfd_write(wait->event_fd, 1);
    }
}

// Nobody is in a call, and nobody can begin one.
void Descriptor::drop_registrations() {
    // Acquire: another thread may have made them.
    IoRegistration* registration = registration_.exchange(nullptr, std::memory_order_acquire);
    while (registration) {
        IoRegistration* previous = registration->previous();
        registration->retire();
        registration->storage().put(*registration);
        registration = previous;
    }
}

void Descriptor::finish_close() {
    drop_registrations();
    env::close(std::exchange(fd_, -1));
}

int Descriptor::release() {
    if (uses_.is_closed()) return -1;
    uses_.drop();
    drop_registrations();
    return std::exchange(fd_, -1);
}

// ---------------------------------------------------------------- waiting

// The registration with a live runtime; a new one is made with `readiness`. `watcher` is the worker
// with whose reactor a new one will be registered; null if that is not known.
Result<IoRegistration*> Descriptor::registration(std::uint8_t readiness, const Worker* watcher) {
    // Acquire: the registration is made; pairs with the release of the exchange below.
    IoRegistration* current = registration_.load(std::memory_order_acquire);
    while (!current || current->is_detached()) {
        IoRegistration* added = WEFT_TRY(IoTable::register_here(fd_, readiness));
        added->set_previous(current);
        // seq_cst: published before uses_ is read; see close().
        if (registration_.compare_exchange_strong(current, added, std::memory_order_seq_cst,
                                                  std::memory_order_acquire)) {
            current = added;
            uses_.settle(watcher);
            break;
        }
        added->retire();
        added->storage().put(*added);
    }
    if (uses_.is_closed()) return ErrorKind::Closed;
    return current;
}

// The wait of an operation that would block, when there is no registration to wait with: at the
// first wait, on a plain thread, or when the runtime of the registration has ended.
Result<void> Descriptor::wait_anywhere(std::uint8_t direction, Deadline deadline,
                                       CancelState* token) {
    if (on_real_thread()) return wait_on_thread(direction, deadline, token);
    auto others = static_cast<std::uint8_t>(kBoth & ~direction);
    IoRegistration* here = WEFT_TRY(registration(others, this_worker()));
    return here->wait(direction, deadline, token);
}

Result<void> Descriptor::wait_on_thread(std::uint8_t direction, Deadline deadline,
                                        CancelState* token) {
    static constinit LogOnce once;
    log_once(once, LogLevel::Debug, "a plain thread blocks on a descriptor");
    ThreadWait wait;
    {
        SpinGuard guard(threads_lock_);
        wait.next = threads_;
        threads_ = &wait;
    }
    CancelToken ambient = CancelToken::current();
    ThreadWait::Listener ambient_listener(wait.event_fd);
    ThreadWait::Listener token_listener(wait.event_fd);
    if (ambient.state()) ambient_listener.listen(ambient.state());
    if (token) token_listener.listen(token);
    Deadline until = earlier(deadline, ambient.deadline());
    if (token) until = earlier(until, token->deadline());
    Result<void> result;
    for (;;) {
        if (!is_open()) result = ErrorKind::Closed;
        if (result) result = ambient.check();
        if (result && token && token->expire_if_due()) result = token->error();
        bool expired = deadline.expired(Clock::now());
        if (!result || wait.wait(fd_, direction, until)) break;
        if (expired) result = ErrorKind::TimedOut;
    }
    ambient_listener.stop();
    token_listener.stop();
    SpinGuard guard(threads_lock_);
    ThreadWait** place = &threads_;
    while (*place != &wait) place = &(*place)->next;
    *place = wait.next;
    return result;
}

// The banked readiness is not reliable here, because libraries use the descriptor directly. So the
// kernel is asked.
Result<void> Descriptor::wait_level(std::uint8_t direction, Deadline deadline, CancelState* token) {
    Use use(*this);
    if (!use) return ErrorKind::Closed;
    if (on_real_thread()) return wait_on_thread(direction, deadline, token);
    IoRegistration* here = WEFT_TRY(registration(kBoth, this_worker()));
    if (env::current()) {
        WEFT_TRY(here->look_again(direction));
        return here->wait(direction, deadline, token);
    }
    for (;;) {
        IoRegistration::Seen seen = here->look(direction);
        if (is_ready_now(fd_, direction)) return {};
        here->clear(seen, direction);
        WEFT_TRY(here->wait(direction, deadline, token));
        if (!is_open()) return ErrorKind::Closed;
        here = WEFT_TRY(registration(kBoth, this_worker()));
    }
}

// ---------------------------------------------------------------- operations

// Calls once, whatever events have come. Returns a count or -errno, which is -EAGAIN when it would
// block. `here` is the registration, or null.
template <class KernelCall>
[[gnu::always_inline]] inline long Descriptor::attempt(IoRegistration* here, std::uint8_t direction,
                                                       std::size_t size, KernelCall& call) {
    if (!here) return call(fd_);
    IoRegistration::Seen seen = here->look(direction);
    long count = call(fd_);
    bool partial = count > 0 && static_cast<std::size_t>(count) < size;
    // After a partial count the next call would block, unless the stream has ended: the event for
    // that may have come together with the one for the bytes.
    if (count == -EAGAIN || (partial && flow_ != Flow::Unknown && !seen.ended))
        here->clear(seen, direction);
    if (WEFT_PLANTED("io.one_for_all") && count >= 0) here->clear(seen, direction);
    return count;
}

// Inlined into the few functions on the path of every message.
template <class Count, class KernelCall>
[[gnu::always_inline]] inline Result<Count> Descriptor::perform_inline(std::uint8_t direction,
                                                                       std::size_t size,
                                                                       KernelCall call,
                                                                       Deadline deadline,
                                                                       CancelState* token) {
    Use use(*this);
    if (!use) return ErrorKind::Closed;
    // A fiber that always finds the descriptor ready must neither keep the worker for ever nor miss
    // that it was cancelled.
    if (turn::may_wait(direction == kReadable ? "descriptor.read" : "descriptor.write", this,
                       kCallCost)) {
        WEFT_TRY(CancelToken::current().check());
    }
    for (;;) {
        // Acquire: the registration is made; pairs with registration().
        IoRegistration* here = registration_.load(std::memory_order_acquire);
        // If it is not ready, no event has come since a call would have blocked. A plain thread
        // calls anyway.
        if (!here || here->is_ready(direction) || on_real_thread()) {
            long count = attempt(here, direction, size, call);
            if (count >= 0) return static_cast<Count>(count);
            if (count != -EAGAIN) return Error::from_errno(static_cast<int>(-count));
        }
        // A close after this test retires the registration, and so ends the wait.
        if (here && this_worker() && !here->is_detached()) [[likely]] {
            WEFT_TRY(here->wait(direction, deadline, token));
        } else {
            WEFT_TRY(wait_anywhere(direction, deadline, token));
        }
        if (!is_open()) return ErrorKind::Closed;
    }
}

template <class Count, class KernelCall>
[[gnu::always_inline]] inline Result<std::optional<Count>> Descriptor::perform_once_inline(
    std::uint8_t direction, std::size_t size, KernelCall call) {
    Use use(*this);
    if (!use) return ErrorKind::Closed;
    // Acquire: as above.
    IoRegistration* here = registration_.load(std::memory_order_acquire);
    long count = attempt(here, direction, size, call);
    if (count >= 0) return std::optional<Count>(static_cast<Count>(count));
    if (count != -EAGAIN) return Error::from_errno(static_cast<int>(-count));
    return std::optional<Count>();
}

Result<long> Descriptor::perform(std::uint8_t direction, std::size_t size, Call call, void* context,
                                 Deadline deadline, CancelState* token) {
    auto kernel_call = [=](int fd) { return call(context, fd); };
    return perform_inline<long>(direction, size, kernel_call, deadline, token);
}

Result<std::optional<long>> Descriptor::perform_once(std::uint8_t direction, std::size_t size,
                                                     Call call, void* context) {
    auto kernel_call = [=](int fd) { return call(context, fd); };
    return perform_once_inline<long>(direction, size, kernel_call);
}

Result<long> Descriptor::perform_with_fd(Call call, void* context) {
    Use use(*this);
    if (!use) return ErrorKind::Closed;
    long count = call(context, fd_);
    if (count < 0) return Error::from_errno(static_cast<int>(-count));
    return count;
}

[[gnu::noinline]] Result<std::size_t> Descriptor::read_some(std::span<std::byte> buffer,
                                                            Deadline deadline, CancelState* token) {
    return perform_inline<std::size_t>(kReadable, buffer.size(), ReadCall{flow_, buffer}, deadline,
                                       token);
}

[[gnu::noinline]] Result<std::size_t> Descriptor::write_some(std::span<const std::byte> bytes,
                                                             Deadline deadline,
                                                             CancelState* token) {
    return perform_inline<std::size_t>(kWritable, bytes.size(), WriteCall{flow_, bytes}, deadline,
                                       token);
}

Result<void> Descriptor::write_whole(std::span<const std::byte> bytes, Deadline deadline,
                                     CancelState* token) {
    // Inline, because as a rule the first call takes all.
    while (!bytes.empty()) {
        Result<std::size_t> count = perform_inline<std::size_t>(
            kWritable, bytes.size(), WriteCall{flow_, bytes}, deadline, token);
        if (!count) [[unlikely]]
            return std::move(count).error();
        WEFT_ASSERT(*count <= bytes.size(), "no more is written than was given");
        bytes = bytes.subspan(*count);
    }
    return {};
}

Result<std::size_t> Descriptor::read(std::span<std::byte> buffer, Deadline deadline) {
    return read_some(buffer, deadline, nullptr);
}

Result<std::size_t> Descriptor::read(std::span<std::byte> buffer, Deadline deadline,
                                     const CancelToken& token) {
    return read_some(buffer, deadline, token.state());
}

Result<std::size_t> Descriptor::write(std::span<const std::byte> bytes, Deadline deadline) {
    return write_some(bytes, deadline, nullptr);
}

Result<std::size_t> Descriptor::write(std::span<const std::byte> bytes, Deadline deadline,
                                      const CancelToken& token) {
    return write_some(bytes, deadline, token.state());
}

Result<void> Descriptor::write_all(std::span<const std::byte> bytes, Deadline deadline) {
    return write_whole(bytes, deadline, nullptr);
}

Result<void> Descriptor::write_all(std::span<const std::byte> bytes, Deadline deadline,
                                   const CancelToken& token) {
    return write_whole(bytes, deadline, token.state());
}

Result<std::optional<std::size_t>> Descriptor::try_read(std::span<std::byte> buffer) {
    return perform_once_inline<std::size_t>(kReadable, buffer.size(), ReadCall{flow_, buffer});
}

Result<std::optional<std::size_t>> Descriptor::try_write(std::span<const std::byte> bytes) {
    return perform_once_inline<std::size_t>(kWritable, bytes.size(), WriteCall{flow_, bytes});
}

Result<void> Descriptor::wait_readable(Deadline deadline) {
    return wait_level(kReadable, deadline, nullptr);
}

Result<void> Descriptor::wait_readable(Deadline deadline, const CancelToken& token) {
    return wait_level(kReadable, deadline, token.state());
}

Result<void> Descriptor::wait_writable(Deadline deadline) {
    return wait_level(kWritable, deadline, nullptr);
}

Result<void> Descriptor::wait_writable(Deadline deadline, const CancelToken& token) {
    return wait_level(kWritable, deadline, token.state());
}

Result<bool> Descriptor::arm(Dormant& dormant, std::uint8_t events) {
    Use use(*this);
    if (!use) return ErrorKind::Closed;
    // Acquire: the registration is made; pairs with registration(). A close after this retires it:
    // then arm() fails, or the Dormant is called with kClosed.
    IoRegistration* here = registration_.load(std::memory_order_acquire);
    if (!here || here->is_detached()) [[unlikely]] {
        auto others = static_cast<std::uint8_t>(kBoth & ~events);
        here = WEFT_TRY(registration(others, this_worker()));
    }
    return here->arm(dormant, events);
}

Result<void> Descriptor::watch_by(unsigned worker, std::uint8_t events) {
    Use use(*this);
    if (!use) return ErrorKind::Closed;
    Worker* here = this_worker();
    if (!here) return ErrorKind::NoRuntime;
    if (worker >= here->scheduler().worker_count())
        return Error(ErrorKind::Misuse, "there is no such worker");
    Worker& watcher = here->scheduler().worker(worker);
    auto others = static_cast<std::uint8_t>(kBoth & ~events);
    IoRegistration* watched = WEFT_TRY(registration(others, &watcher));
    return watched->add_to(watcher.reactor());
}

bool Descriptor::disarm(Dormant& dormant) {
    Use use(*this);
    if (!use) return false;
    // Acquire: the registration is made; pairs with registration().
    IoRegistration* here = registration_.load(std::memory_order_acquire);
    return here && here->disarm(dormant);
}

Result<Pipe> make_pipe() {
    int ends[2];
    if (int error = env::pipe(ends); error < 0) return Error::from_errno(-error);
    // A simulated pipe may give less than it has.
    Flow flow = env::current() ? Flow::Unknown : Flow::Stream;
    return Pipe{Descriptor::adopt_nonblocking(ends[0], flow),
                Descriptor::adopt_nonblocking(ends[1], flow)};
}

}  // namespace weft
