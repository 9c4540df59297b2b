// The reactor on io_uring: readiness by multishot polls, files by requests. And the mixed one:
// readiness by epoll, files by a ring.
//
// One lock guards the submission and the completion ring. It is never held over a sleep; submitting
// under it is short, because the kernel hands what would block to its own threads. Requests belong
// to the thread that submits them and end with it, so only workers submit; a plain thread queues
// its request and wakes the owner. A poll request holds a reference to its file: a closed socket is
// released only after remove(), and if a plain thread closes it, only when the owner, or the
// watchman for it, polls next.
#include "weft/fiber/io/reactor.h"

#if defined(WEFT_URING) && __has_include(<liburing.h>)

#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/io/file_request.h"
#include "weft/fiber/io/wake_state.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {
namespace {

constexpr unsigned kSubmissionEntries = 256;
constexpr unsigned kCompletionEntries = 4096;
constexpr unsigned kPollMask = POLLIN | POLLOUT | POLLRDHUP;
constexpr std::int64_t kRetryNs = 1'000'000;  // how soon a refused submission is tried again

// The user data of a completion. Tickets have a generation of 1 to 31 bits, which leaves these:
constexpr std::uint64_t kFileTag = std::uint64_t{1} << 63;  // with the address of the request
constexpr std::uint64_t kWakeTag = 0;
constexpr std::uint64_t kIgnoredTag = 1;

std::uint8_t to_events(int mask) {
    unsigned events = 0;
    if (mask & (POLLIN | POLLPRI)) events |= kReadable;
    if (mask & POLLOUT) events |= kWritable;
    if (mask & POLLRDHUP) events |= kReadable | kHangUp;
    if (mask & POLLHUP) events |= kReadable | kWritable | kHangUp;
    if (mask & POLLERR) events |= kReadable | kWritable | kFailed;
    return static_cast<std::uint8_t>(events);
}

std::uint64_t tag_of(const FileRequest& request) {
    auto address = reinterpret_cast<std::uintptr_t>(&request);
    WEFT_DASSERT((address & kFileTag) == 0, "an address of user space leaves the highest bit");
    return kFileTag | address;
}

void prepare(io_uring_sqe& sqe, FileRequest& request) {
    using Operation = FileRequest::Operation;
    auto offset = static_cast<std::uint64_t>(request.offset);
    switch (request.operation) {
    case Operation::Open:
        io_uring_prep_openat(&sqe, AT_FDCWD, request.path, request.flags, request.permissions);
        break;
    case Operation::Read:
        io_uring_prep_read(&sqe, request.fd, request.buffer, request.size, offset);
        break;
    case Operation::Write:
        io_uring_prep_write(&sqe, request.fd, request.buffer, request.size, offset);
        break;
    case Operation::Sync: io_uring_prep_fsync(&sqe, request.fd, 0); break;
    case Operation::Resize: WEFT_UNREACHABLE();
    case Operation::Status:
        io_uring_prep_statx(&sqe, request.path ? AT_FDCWD : request.fd,
                            request.path ? request.path : "", request.path ? 0 : AT_EMPTY_PATH,
                            STATX_BASIC_STATS, request.status);
        break;
    case Operation::Rename:
        io_uring_prep_renameat(&sqe, AT_FDCWD, request.path, AT_FDCWD, request.target_path, 0);
        break;
    case Operation::Remove:
        io_uring_prep_unlinkat(&sqe, AT_FDCWD, request.path, request.flags);
        break;
    case Operation::Close: io_uring_prep_close(&sqe, request.fd); break;
    }
    sqe.user_data = tag_of(request);
}

class UringReactor final : public Reactor {
public:
    UringReactor(const io_uring& ring, int event_fd) : ring_(ring), event_fd_(event_fd) {}
    ~UringReactor() override {
        io_uring_queue_exit(&ring_);
        if (event_fd_ >= 0) ::close(event_fd_);
    }

    const char* name() const override { return "io_uring"; }
    Result<void> add(int fd, Ticket registration) override;
    void remove(int fd, Ticket registration) override;
    std::size_t poll(std::span<IoEvent> events, std::int64_t deadline_ns) override;
    std::size_t poll_for_owner(std::span<IoEvent> events) override;
    void wake() override;
    bool submit(FileRequest& request) override;
    void cancel(FileRequest& request) override;

    void watch_wake_ups();  // before the first poll()

    // Makes it the ring for the files of another reactor.
    void serve(Reactor& reactor) { served_ = &reactor; }
    int ring_fd() const { return ring_.ring_fd; }
    // Relaxed: the owner's own requests, or a momentary value.
    bool has_files() const { return files_.load(std::memory_order_relaxed) != 0; }
    enum class Files { Finished, UnderWay, Refused };
    Files poll_files();
    void poll_files_for_owner();

private:
    io_uring_sqe& next_sqe();
    void flush();
    void unlock_and_pass_on();
    void gather(std::span<IoEvent> events, std::size_t& count, FileRequest*& finished,
                bool& saw_wake);
    void complete(FileRequest* finished);
    void sleep(std::int64_t timeout_ns);

    SpinLock lock_;  // guards ring_ except its descriptor
    io_uring ring_;
    const int event_fd_;  // -1 in a ring for files
    WakeState wake_state_;
    Reactor* served_ = this;  // the reactor of the worker: this, or the mixed one
    Atomic<std::uint32_t> files_{0};
};

// With the lock held. A full submission queue is flushed, so there is always a next entry: the
// kernel takes all of them, and refuses only until completions have been taken.
io_uring_sqe& UringReactor::next_sqe() {
    WEFT_DASSERT(lock_.is_locked());
    for (unsigned attempt = 0;; ++attempt) {
        if (io_uring_sqe* sqe = io_uring_get_sqe(&ring_)) return *sqe;
        flush();
        WEFT_ASSERT(attempt < 1'000'000, "the kernel takes no requests from a full ring");
    }
}

// With the lock held.
void UringReactor::flush() {
    WEFT_DASSERT(lock_.is_locked());
    while (io_uring_sq_ready(&ring_) != 0) {
        int submitted = io_uring_submit(&ring_);
        if (submitted > 0 || submitted == -EINTR) continue;
        return;  // too many completions are pending, or memory is short: poll() tries again
    }
}

// Releases the lock, and makes sure that the queued entries reach the kernel soon: the owner
// flushes them at its next poll().
void UringReactor::unlock_and_pass_on() {
    Worker* worker = this_worker();
    bool is_owner = worker && &worker->reactor() == served_;
    if (worker && !is_owner) flush();
    lock_.unlock();
    if (!worker) served_->wake();
}

Result<void> UringReactor::add(int fd, Ticket registration) {
    WEFT_DASSERT(!registration.is_none() && registration.generation >> 31 == 0);
    lock_.lock();
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_poll_multishot(&sqe, fd, kPollMask);
    sqe.user_data = registration.as_u64();
    unlock_and_pass_on();
    return {};
}

void UringReactor::remove(int fd, Ticket registration) {
    static_cast<void>(fd);
    lock_.lock();
    io_uring_sqe& sqe = next_sqe();
    // Not poll_remove: the kernel refuses that while an event of the poll is on its way, and the
    // poll request would stay.
    io_uring_prep_cancel64(&sqe, registration.as_u64(), 0);
    sqe.user_data = kIgnoredTag;
    // At once, also by the owner: as long as the poll request holds the file, its peer does not
    // notice the close.
    if (this_worker()) flush();
    unlock_and_pass_on();
}

bool UringReactor::submit(FileRequest& request) {
    if (request.operation == FileRequest::Operation::Resize) return false;  // before Linux 6.9
    // Relaxed: as in has_files().
    files_.fetch_add(1, std::memory_order_relaxed);
    lock_.lock();
    prepare(next_sqe(), request);
    unlock_and_pass_on();
    return true;
}

void UringReactor::cancel(FileRequest& request) {
    lock_.lock();
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_cancel64(&sqe, tag_of(request), 0);
    sqe.user_data = kIgnoredTag;
    unlock_and_pass_on();
}

void UringReactor::watch_wake_ups() {
    lock_.lock();
    io_uring_sqe& sqe = next_sqe();
    io_uring_prep_poll_multishot(&sqe, event_fd_, POLLIN);
    sqe.user_data = kWakeTag;
    lock_.unlock();
}

void UringReactor::wake() {
    if (wake_state_.notify()) ::eventfd_write(event_fd_, 1);
}

// With the lock held: takes what the completion ring has, without waiting.
void UringReactor::gather(std::span<IoEvent> events, std::size_t& count, FileRequest*& finished,
                          bool& saw_wake) {
    WEFT_DASSERT(lock_.is_locked());
    std::array<io_uring_cqe*, 64> batch;
    while (count < events.size()) {
        std::size_t room = events.size() - count;
        unsigned limit = static_cast<unsigned>(room < batch.size() ? room : batch.size());
        unsigned found = io_uring_peek_batch_cqe(&ring_, batch.data(), limit);
        if (found == 0) return;
        WEFT_ASSERT(found <= limit, "the ring gives no more than there is room for");
        for (unsigned i = 0; i < found; ++i) {
            const io_uring_cqe& cqe = *batch[i];
            if (cqe.user_data == kIgnoredTag) continue;
            if (cqe.user_data == kWakeTag) {
                saw_wake = true;
                if (cqe.flags & IORING_CQE_F_MORE) continue;
                io_uring_sqe& sqe = next_sqe();
                io_uring_prep_poll_multishot(&sqe, event_fd_, POLLIN);
                sqe.user_data = kWakeTag;
            } else if (cqe.user_data & kFileTag) {
                auto* request = reinterpret_cast<FileRequest*>(cqe.user_data & ~kFileTag);
                request->result = cqe.res;
                request->buffer = finished;  // no longer needed; links the finished requests
                finished = request;
            } else {
                unsigned mask = cqe.res > 0 ? to_events(cqe.res) : 0U;
                // A poll that failed wakes all: the operation itself will return the error.
                if (cqe.res < 0 && cqe.res != -ECANCELED) mask = kReadable | kWritable | kFailed;
                if (!(cqe.flags & IORING_CQE_F_MORE)) mask |= kEnded;
                events[count++] =
                    IoEvent{Ticket::from_u64(cqe.user_data), static_cast<std::uint8_t>(mask)};
            }
        }
        io_uring_cq_advance(&ring_, found);
    }
}

void UringReactor::complete(FileRequest* finished) {
    while (FileRequest* request = finished) {
        finished = static_cast<FileRequest*>(request->buffer);
        // Relaxed: as in has_files().
        std::uint32_t before = files_.fetch_sub(1, std::memory_order_relaxed);
        WEFT_ASSERT(before != 0, "a request completes once");
        request->ended.complete();
    }
}

std::size_t UringReactor::poll(std::span<IoEvent> events, std::int64_t deadline_ns) {
    std::size_t count = 0;
    FileRequest* finished = nullptr;
    bool saw_wake = false;
    lock_.lock();
    flush();
    gather(events, count, finished, saw_wake);
    bool refused = io_uring_sq_ready(&ring_) != 0;
    lock_.unlock();
    if (count != 0 || finished || deadline_ns <= 0) {
        complete(finished);
        return count;
    }
    std::int64_t timeout_ns = kNeverNs;
    if (deadline_ns != kNeverNs) timeout_ns = deadline_ns - env::now_ns();
    if (refused && timeout_ns > kRetryNs) timeout_ns = kRetryNs;
    if (timeout_ns <= 0 || !wake_state_.begin_sleep()) return 0;
    sleep(timeout_ns);
    wake_state_.end_sleep();
    lock_.lock();
    gather(events, count, finished, saw_wake);
    lock_.unlock();
    complete(finished);
    return count;
}

std::size_t UringReactor::poll_for_owner(std::span<IoEvent> events) {
    std::size_t count = 0;
    FileRequest* finished = nullptr;
    bool saw_wake = false;
    if (!lock_.try_lock()) return 0;
    flush();
    gather(events, count, finished, saw_wake);
    lock_.unlock();
    complete(finished);
    // The owner may sleep by now, and this call has consumed the event that was to wake it.
    if (saw_wake && wake_state_.still_needed()) ::eventfd_write(event_fd_, 1);
    return count;
}

auto UringReactor::poll_files() -> Files {
    std::array<IoEvent, 1> none;
    std::size_t count = 0;
    FileRequest* finished = nullptr;
    bool saw_wake = false;
    lock_.lock();
    flush();
    gather(none, count, finished, saw_wake);
    bool refused = io_uring_sq_ready(&ring_) != 0;
    lock_.unlock();
    complete(finished);
    if (finished) return Files::Finished;
    return refused ? Files::Refused : Files::UnderWay;
}

void UringReactor::poll_files_for_owner() {
    std::array<IoEvent, 1> none;
    poll_for_owner(none);
}

// Without the lock. The caller treats interrupted, timed out and woken alike.
void UringReactor::sleep(std::int64_t timeout_ns) {
    __kernel_timespec timeout{};
    timeout.tv_sec = timeout_ns / 1'000'000'000;
    timeout.tv_nsec = timeout_ns % 1'000'000'000;
    io_uring_getevents_arg argument{};
    if (timeout_ns != kNeverNs) argument.ts = reinterpret_cast<std::uintptr_t>(&timeout);
    ::syscall(__NR_io_uring_enter, ring_.ring_fd, 0U, 1U,
              IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
}

// The ring's descriptor is watched by epoll: a request that ends while the owner sleeps wakes it.
class MixedReactor final : public Reactor {
public:
    static constexpr Ticket kRingTicket{1, 0};  // of no registration, and not epoll's wake-up

    MixedReactor(std::unique_ptr<Reactor> epoll, std::unique_ptr<UringReactor> ring)
        : epoll_(std::move(epoll)), ring_(std::move(ring)) {
        ring_->serve(*this);
    }

    const char* name() const override { return "mixed"; }
    Result<void> add(int fd, Ticket registration) override { return epoll_->add(fd, registration); }
    void remove(int fd, Ticket registration) override { epoll_->remove(fd, registration); }
    std::size_t poll(std::span<IoEvent> events, std::int64_t deadline_ns) override;
    std::size_t poll_for_owner(std::span<IoEvent> events) override;
    void wake() override { epoll_->wake(); }
    bool submit(FileRequest& request) override { return ring_->submit(request); }
    void cancel(FileRequest& request) override { ring_->cancel(request); }

private:
    std::unique_ptr<Reactor> epoll_;
    std::unique_ptr<UringReactor> ring_;
};

std::size_t MixedReactor::poll(std::span<IoEvent> events, std::int64_t deadline_ns) {
    if (!ring_->has_files()) return epoll_->poll(events, deadline_ns);
    UringReactor::Files files = ring_->poll_files();
    if (files == UringReactor::Files::Finished) deadline_ns = 0;
    if (files == UringReactor::Files::Refused && deadline_ns > 0)
        deadline_ns = std::min(deadline_ns, env::now_ns() + kRetryNs);
    std::size_t count = epoll_->poll(events, deadline_ns);
    if (deadline_ns > 0) ring_->poll_files();
    return count;
}

std::size_t MixedReactor::poll_for_owner(std::span<IoEvent> events) {
    if (ring_->has_files()) ring_->poll_files_for_owner();
    return epoll_->poll_for_owner(events);
}

Error unavailable(int native_code, const char* why) {
    return Error(ErrorKind::Unavailable, native_code, std::string("io_uring: ") + why);
}

Result<io_uring> set_up_ring() {
    io_uring ring;
    io_uring_params parameters{};
    // With these flags the kernel does not interrupt a running thread to post a completion: it sets
    // a flag that the next poll sees, or posts at a timer tick. Kernels that know them (5.19) also
    // have multishot polls, timed waits and rings that drop nothing.
    parameters.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE;
    parameters.cq_entries = kCompletionEntries;
    int error = io_uring_queue_init_params(kSubmissionEntries, &ring, &parameters);
    if (error == 0) return ring;
    if (error == -EMFILE || error == -ENFILE) return Error::from_errno(-error);
    if (error == -EINVAL) return unavailable(EINVAL, "the kernel is too old (5.19 is needed)");
    return unavailable(-error, "the kernel refuses to set up a ring");
}

}  // namespace

Result<std::unique_ptr<Reactor>> reactors::make_uring() {
    int event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_fd < 0) return Error::from_errno(errno);
    Result<io_uring> ring = set_up_ring();
    if (!ring) {
        ::close(event_fd);
        return ring.error();
    }
    auto reactor = std::make_unique<UringReactor>(*ring, event_fd);
    reactor->watch_wake_ups();
    return reactor;
}

Result<std::unique_ptr<Reactor>> reactors::make_mixed() {
    std::unique_ptr<Reactor> epoll = WEFT_TRY(make_epoll());
    io_uring ring = WEFT_TRY(set_up_ring());
    auto files = std::make_unique<UringReactor>(ring, -1);
    WEFT_TRY(epoll->add(files->ring_fd(), MixedReactor::kRingTicket));
    return std::make_unique<MixedReactor>(std::move(epoll), std::move(files));
}

}  // namespace weft

#else

namespace weft {

Result<std::unique_ptr<Reactor>> reactors::make_uring() {
    return Error(ErrorKind::Unavailable, "io_uring: this build has no io_uring reactor");
}

Result<std::unique_ptr<Reactor>> reactors::make_mixed() { return make_uring(); }

}  // namespace weft

#endif
