// Descriptors for fibers and threads.
//
// A Descriptor owns a file descriptor of the kernel and reads and writes it: the call is tried
// first, and only if it would block does the caller wait. In a fiber the wait parks the fiber; on a
// plain thread the same call blocks the thread. Every wait honours the ambient token, the given
// deadline and, where one is given, a further token.
//
//     Pipe pipe = WEFT_TRY(make_pipe());
//     spawn([&] { return pipe.writer.write_all(as_bytes("hello")); });
//     std::size_t count = WEFT_TRY(pipe.reader.read(buffer));     // 0 is the end of the stream
//
// Any fiber and any thread; one may read while another writes and a third closes. Closing wakes
// everybody with Closed; the kernel's descriptor is closed when the last call has left, so its
// number cannot pass to somebody else under a call. The object itself must outlive the calls on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "weft/base/atomic.h"
#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/io/reactor.h"
#include "weft/fiber/io/use_count.h"

namespace weft {

class CancelState;
class CancelToken;
class IoRegistration;
class Worker;

// Dormant: an object without a fiber that waits for a descriptor. After Descriptor::arm() it is
// called once, when one of the events comes for which it is armed, in the loop or scheduler of some
// worker; or with kClosed, when the descriptor is closed or the runtime ends, by the thread that
// does so. It must not wait; it may spawn a fiber, cancel a token, and close or arm again.
struct Dormant {
    void (*on_ready)(Dormant& dormant, std::uint8_t events) = nullptr;
};

// Whether a short read or write means that the descriptor is drained or full for now, so that the
// next call need not be tried: true of pipes and TCP (Stream), not of datagrams, terminals and the
// like (Unknown). For StreamSocket recv and send are called, which cost less than read and write.
enum class Flow : std::uint8_t { Unknown, Stream, StreamSocket };

class Descriptor {
public:
    Descriptor() = default;  // closed: every call gives Closed
    // Takes the descriptor over and makes it non-blocking. After an error it stays the caller's.
    static Result<Descriptor> adopt(int fd);
    // The same without a system call, for one that is known to be non-blocking.
    static Descriptor adopt_nonblocking(int fd, Flow flow);

    // Moving is for owners: nobody else may be in a call.
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();

    // At least one byte, or 0 at the end of the stream (or for an empty buffer).
    Result<std::size_t> read(std::span<std::byte> buffer, Deadline deadline = Deadline::never());
    Result<std::size_t> read(std::span<std::byte> buffer, Deadline deadline,
                             const CancelToken& token);
    // At least one byte (or none of an empty buffer); Reset when nobody reads any more.
    Result<std::size_t> write(std::span<const std::byte> bytes,
                              Deadline deadline = Deadline::never());
    Result<std::size_t> write(std::span<const std::byte> bytes, Deadline deadline,
                              const CancelToken& token);
    // An error may come after a part was written.
    Result<void> write_all(std::span<const std::byte> bytes, Deadline deadline = Deadline::never());
    Result<void> write_all(std::span<const std::byte> bytes, Deadline deadline,
                           const CancelToken& token);

    // Without waiting: nothing when the call would block.
    Result<std::optional<std::size_t>> try_read(std::span<std::byte> buffer);
    Result<std::optional<std::size_t>> try_write(std::span<const std::byte> bytes);

    // For libraries that read and write by themselves: returns when the kernel says ready (or hung
    // up, or failed), however it came to be so.
    Result<void> wait_readable(Deadline deadline = Deadline::never());
    Result<void> wait_readable(Deadline deadline, const CancelToken& token);
    Result<void> wait_writable(Deadline deadline = Deadline::never());
    Result<void> wait_writable(Deadline deadline, const CancelToken& token);

    // For other calls, such as accept and recvmsg: calls attempt(fd), which returns a count or
    // -errno, again after each wait until it is not -EAGAIN. `token` may be null. `size` is the
    // count that the call asks for, if a smaller one means that the next call would block; else 0.
    // See Flow.
    template <class Attempt>
    Result<long> until_ready(IoEvents direction, Attempt&& attempt, Deadline deadline,
                             CancelState* token = nullptr, std::size_t size = 0);

    // The same without waiting: nothing when the call would block.
    template <class Attempt>
    Result<std::optional<long>> try_once(IoEvents direction, Attempt&& attempt,
                                         std::size_t size = 0);
    // For calls that never block, such as getsockname: fn(fd) returns a count or -errno; meanwhile
    // the descriptor cannot be closed.
    template <class Function>
    Result<long> with_fd(Function&& fn);

    // Calls dormant.on_ready once, at the first of `events`. False: one of them may have come
    // already, and nothing was armed; try the operation. Fibers, and callbacks in a worker's loop.
    Result<bool> arm(Dormant& dormant, std::uint8_t events);
    // True: it was armed, and will not be called. False: it has been or is being called.
    bool disarm(Dormant& dormant);
    // Registers the descriptor with the reactor of a worker of the runtime (see placement.h), with
    // `events` as not yet ready. Without it the descriptor is registered with the worker on which
    // somebody waits for it first. Fibers.
    Result<void> watch_by(unsigned worker, std::uint8_t events);

    void close();   // idempotent
    int release();  // gives it to the caller, still non-blocking; nobody else may be in a call
    bool is_open() const;
    int fd() const { return fd_; }  // keeps its ownership; -1 when there is none

private:
    struct ThreadWait;
    class Use;
    using Call = long (*)(void* context, int fd);

    Descriptor(int fd, Flow flow);

    void drop_registrations();
    void finish_close();

    template <class KernelCall>
    long attempt(IoRegistration* here, std::uint8_t direction, std::size_t size, KernelCall& call);
    template <class Count, class KernelCall>
    Result<Count> perform_inline(std::uint8_t direction, std::size_t size, KernelCall call,
                                 Deadline deadline, CancelState* token);
    template <class Count, class KernelCall>
    Result<std::optional<Count>> perform_once_inline(std::uint8_t direction, std::size_t size,
                                                     KernelCall call);
    Result<long> perform(std::uint8_t direction, std::size_t size, Call call, void* context,
                         Deadline deadline, CancelState* token);
    Result<std::optional<long>> perform_once(std::uint8_t direction, std::size_t size, Call call,
                                             void* context);
    Result<long> perform_with_fd(Call call, void* context);
    Result<void> wait_anywhere(std::uint8_t direction, Deadline deadline, CancelState* token);
    Result<void> wait_level(std::uint8_t direction, Deadline deadline, CancelState* token);
    Result<void> wait_on_thread(std::uint8_t direction, Deadline deadline, CancelState* token);
    Result<std::size_t> read_some(std::span<std::byte> buffer, Deadline deadline,
                                  CancelState* token);
    Result<std::size_t> write_some(std::span<const std::byte> bytes, Deadline deadline,
                                   CancelState* token);
    Result<void> write_whole(std::span<const std::byte> bytes, Deadline deadline,
                             CancelState* token);
    Result<IoRegistration*> registration(std::uint8_t readiness, const Worker* watcher);

    int fd_ = -1;
    Flow flow_ = Flow::Unknown;
    SpinLock threads_lock_;
    UseCount uses_;  // the calls under way; its home is the worker with whose reactor it is
    SchedulerAtomic<IoRegistration*> registration_{nullptr};
    ThreadWait* threads_ = nullptr;  // plain threads that wait; under threads_lock_
};

struct Pipe {
    Descriptor reader;
    Descriptor writer;
};
Result<Pipe> make_pipe();

namespace io_internal {

// Adapts a function object to a plain function with a context pointer.
template <class Function>
struct Callable {
    static long call(void* self, int fd) { return static_cast<Callable*>(self)->fn(fd); }
    Function& fn;
};

}  // namespace io_internal

template <class Attempt>
Result<long> Descriptor::until_ready(IoEvents direction, Attempt&& attempt, Deadline deadline,
                                     CancelState* token, std::size_t size) {
    io_internal::Callable<std::remove_reference_t<Attempt>> callable{attempt};
    return perform(direction, size, callable.call, &callable, deadline, token);
}

template <class Attempt>
Result<std::optional<long>> Descriptor::try_once(IoEvents direction, Attempt&& attempt,
                                                 std::size_t size) {
    io_internal::Callable<std::remove_reference_t<Attempt>> callable{attempt};
    return perform_once(direction, size, callable.call, &callable);
}

template <class Function>
Result<long> Descriptor::with_fd(Function&& fn) {
    io_internal::Callable<std::remove_reference_t<Function>> callable{fn};
    return perform_with_fd(callable.call, &callable);
}

}  // namespace weft
