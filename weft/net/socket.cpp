#include "weft/net/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/worker.h"  // tidy: allow layers: fiber or thread
#include "weft/net/internal/calls.h"
#include "weft/net/internal/peer_name.h"
#include "weft/net/internal/sent_file.h"

namespace weft::net {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kPartsMax = 128;  // per call; IOV_MAX is more, but they are on the stack
constexpr std::size_t kSendFileBytesMax = 1 << 20;  // per call
constexpr std::size_t kCopyBytes = 64 * 1024;
// How much of a file that is not in the page cache is copied before the cache is checked again: the
// kernel reads ahead meanwhile.
constexpr std::size_t kColdBytes = 2 * kCopyBytes;
constexpr Nanoseconds kBacklogWaitMin = milliseconds(1);
constexpr Nanoseconds kBacklogWaitMax = milliseconds(50);

Result<void> as_result(int result) {
    if (result < 0) return Error::from_errno(-result);
    return {};
}

Descriptor own(int fd) {
    WEFT_ASSERT(fd >= 0, "an error of the call that opens it is handled before");
    // A simulated socket may give less than it has, so a short read says nothing.
    return Descriptor::adopt_nonblocking(fd, env::current() ? Flow::Unknown : Flow::StreamSocket);
}

Result<Descriptor> open_stream(const Address& address) {
    int fd = calls::socket(calls::family_of(address), SOCK_STREAM);
    if (fd < 0) return Error::from_errno(-fd);
    return own(fd);
}

Result<void> set(Descriptor& descriptor, int level, int name, int value) {
    WEFT_TRY(descriptor.with_fd([&](int fd) { return calls::set_option(fd, level, name, value); }));
    return {};
}

Result<void> set_all(Descriptor& descriptor, const SocketOptions& options, Address::Kind kind) {
    if (options.send_buffer_bytes > 0)
        WEFT_TRY(set(descriptor, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes));
    if (options.receive_buffer_bytes > 0)
        WEFT_TRY(set(descriptor, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes));
    if (kind == Address::Kind::Unix) return {};
    WEFT_TRY(set(descriptor, IPPROTO_TCP, TCP_NODELAY, options.no_delay));
    return set(descriptor, SOL_SOCKET, SO_KEEPALIVE, options.keep_alive);
}

// The backlog of a Unix listener is full, and the kernel does not report when it has room again:
// back-off.
Result<void> wait_for_backlog(Nanoseconds& wait, Deadline deadline) {
    WEFT_ASSERT(wait > Nanoseconds::zero() && wait <= kBacklogWaitMax, "the back-off is bounded");
    if (deadline.expired(Clock::now())) return ErrorKind::TimedOut;
    WEFT_TRY(sleep_until(earlier(Deadline::after(wait), deadline)));
    wait = std::min(wait * 2, kBacklogWaitMax);
    return {};
}

// For a connection to the same machine the kernel may choose the very port that is asked for as the
// socket's own, and then connects the socket with itself.
bool is_connected_with_itself(const Socket& socket, const Address& asked_for) {
    if (asked_for.kind() == Address::Kind::Unix) return false;
    Address local = socket.local_address();
    return local.port() == asked_for.port() && local == socket.peer_address();
}

// The parts of a vectored write that are not sent yet.
class Remainder {
public:
    explicit Remainder(std::span<const Bytes> parts) : parts_(parts) { skip_empty(); }

    bool empty() const { return parts_.empty(); }
    // Lists as many of them as `room` takes. `bytes` becomes the sum of their sizes.
    std::span<const iovec> gather(std::span<iovec> room, std::size_t& bytes) const {
        WEFT_DASSERT(!parts_.empty() && offset_ < parts_[0].size(), "the first part is not empty");
        std::size_t count = std::min(room.size(), parts_.size());
        bytes = 0;
        for (std::size_t i = 0; i < count; ++i) {
            Bytes part = i == 0 ? parts_[0].subspan(offset_) : parts_[i];
            room[i] = {const_cast<std::byte*>(part.data()), part.size()};
            bytes += part.size();
        }
        return room.first(count);
    }
    void advance(std::size_t count) {
        while (count > 0) {
            WEFT_ASSERT(!parts_.empty(), "no more is sent than was given");
            std::size_t here = std::min(count, parts_[0].size() - offset_);
            offset_ += here;
            count -= here;
            skip_empty();
        }
    }

private:
    void skip_empty() {
        while (!parts_.empty() && offset_ == parts_[0].size()) {
            parts_ = parts_.subspan(1);
            offset_ = 0;
        }
    }

    std::span<const Bytes> parts_;
    std::size_t offset_ = 0;  // into the first
};

// accept(2): errors of the connection and of the network that it came from, not of the listener.
bool concerns_the_connection(int error) {
    switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENOPROTOOPT:
    case ENONET: return true;
    default: return false;
    }
}

// The kernel was built or started without IPv6, or no interface has it.
bool is_lack_of_ipv6(const Error& error) {
    return error.native_code() == EAFNOSUPPORT || error.native_code() == EADDRNOTAVAIL;
}

// Whether the file was left behind by a listener that was killed.
bool is_stale(const Address& address) {
    // Only a socket can be stale: connecting to any other file is refused as well.
    if (calls::socket_inode(address.path()) == 0) return false;
    int fd = calls::socket(AF_UNIX, SOCK_STREAM);
    if (fd < 0) return false;
    Descriptor probe = own(fd);
    return calls::connect(fd, address) == -ECONNREFUSED;
}

}  // namespace

// ---------------------------------------------------------------- Socket

Socket Socket::adopt_nonblocking(int fd) { return Socket(own(fd)); }

Result<Socket> Socket::connect(const Address& address, Deadline deadline,
                               const SocketOptions& options) {
    Result<Socket> socket = connect_to(address, deadline, options);
    if (!socket) return socket.error().with_context("connect", address.to_string());
    socket->connected_to_ = std::make_unique<const Address>(address);
    return socket;
}

// Closed and Cancelled were caused on purpose, by this side, and are passed unchanged.
Error Socket::with_peer(const Error& error, std::string_view action) const {
    if (error.kind() == ErrorKind::Closed || error.kind() == ErrorKind::Cancelled) return error;
    return error.with_context(action, peer_name(connected_to_ ? *connected_to_ : peer_address()));
}

Result<Socket> Socket::connect_to(const Address& address, Deadline deadline,
                                  const SocketOptions& options) {
    Descriptor opened = WEFT_TRY(open_stream(address));
    Socket socket(std::move(opened));
    Descriptor& descriptor = socket.descriptor_;
    WEFT_TRY(set_all(descriptor, options, address.kind()));
    Nanoseconds backlog_wait = kBacklogWaitMin;
    for (;;) {
        // A further call reports the outcome of the first one, as SO_ERROR does, and also tells
        // when it is still under way because the wait has ended spuriously.
        int result = calls::connect(descriptor.fd(), address);
        if (result == 0 || result == -EISCONN) break;
        if (result == -EINPROGRESS || result == -EALREADY) {
            WEFT_TRY(descriptor.wait_writable(deadline));
            if (WEFT_PLANTED("socket.believes_the_event")) break;
        } else if (result == -EAGAIN && address.kind() == Address::Kind::Unix) {
            WEFT_TRY(wait_for_backlog(backlog_wait, deadline));
        } else {
            return Error::from_errno(-result);
        }
    }
    if (is_connected_with_itself(socket, address)) return Error(ErrorKind::Refused, ECONNREFUSED);
    return socket;
}

Result<std::pair<Socket, Socket>> Socket::make_pair() {
    int ends[2];
    WEFT_TRY(as_result(calls::socket_pair(ends)));
    return std::pair(Socket(own(ends[0])), Socket(own(ends[1])));
}

Result<std::size_t> Socket::read(ByteSpace space, Deadline deadline) {
    Result<std::size_t> count = descriptor_.read(space, deadline);
    if (!count) [[unlikely]]
        return with_peer(count.error(), "read from");
    WEFT_DASSERT(*count <= space.size(), "recv() keeps to its space");
    return count;
}

Result<std::optional<std::size_t>> Socket::try_read(ByteSpace space) {
    Result<std::optional<std::size_t>> count = descriptor_.try_read(space);
    if (!count) [[unlikely]]
        return with_peer(count.error(), "read from");
    WEFT_DASSERT(count->value_or(0) <= space.size(), "recv() keeps to its space");
    return count;
}

Result<std::size_t> Socket::read_vectored(std::span<const ByteSpace> spaces, Deadline deadline) {
    std::array<iovec, kPartsMax> room;
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (ByteSpace space : spaces.first(std::min(spaces.size(), kPartsMax))) {
        room[count++] = {space.data(), space.size()};
        bytes += space.size();
    }
    if (bytes == 0) return 0;
    auto receive = [&](int fd) {
        return calls::receive_parts(fd, std::span<const iovec>(room).first(count));
    };
    Result<long> received = descriptor_.until_ready(kReadable, receive, deadline, nullptr, bytes);
    if (!received) [[unlikely]]
        return with_peer(received.error(), "read from");
    WEFT_DASSERT(static_cast<std::size_t>(*received) <= bytes, "recvmsg() keeps to its space");
    return static_cast<std::size_t>(*received);
}

Result<void> Socket::write_all(Bytes bytes, Deadline deadline) {
    Result<void> sent = descriptor_.write_all(bytes, deadline);
    if (!sent) [[unlikely]]
        return with_peer(sent.error(), "write to");
    return sent;
}

Result<void> Socket::write_all(std::span<const Bytes> parts, Deadline deadline) {
    std::array<iovec, kPartsMax> room;
    for (Remainder rest(parts); !rest.empty();) {
        std::size_t bytes = 0;
        std::span<const iovec> some = rest.gather(room, bytes);
        auto send = [&](int fd) { return calls::send_parts(fd, some); };
        Result<long> sent = descriptor_.until_ready(kWritable, send, deadline, nullptr, bytes);
        if (!sent) [[unlikely]]
            return with_peer(sent.error(), "write to");
        if (WEFT_PLANTED("socket.forgets_the_rest")) *sent = static_cast<long>(bytes);
        rest.advance(static_cast<std::size_t>(*sent));
    }
    return {};
}

Result<std::size_t> Socket::try_write(std::span<const Bytes> parts) {
    // One part is the common case, and has a cheaper call.
    if (parts.size() != 1) return try_write_several(parts);
    Result<std::optional<std::size_t>> sent = descriptor_.try_write(parts[0]);
    if (!sent) [[unlikely]]
        return with_peer(sent.error(), "write to");
    WEFT_DASSERT(sent->value_or(0) <= parts[0].size(), "send() takes no more than it is given");
    return sent->value_or(0);
}

Result<std::size_t> Socket::try_write_several(std::span<const Bytes> parts) {
    std::array<iovec, kPartsMax> room;
    std::size_t total = 0;
    for (Remainder rest(parts); !rest.empty();) {
        std::size_t bytes = 0;
        std::span<const iovec> some = rest.gather(room, bytes);
        auto send = [&](int fd) { return calls::send_parts(fd, some); };
        Result<std::optional<long>> sent = descriptor_.try_once(kWritable, send, bytes);
        // After a part was taken the next call reports the failure.
        if (!sent && total == 0) return with_peer(sent.error(), "write to");
        if (!sent || !*sent) break;
        auto count = static_cast<std::size_t>(**sent);
        WEFT_DASSERT(count <= bytes, "sendmsg() takes no more than it is given");
        total += count;
        if (count < bytes) break;
        rest.advance(count);
    }
    return total;
}

Result<void> Socket::send_file(int file, std::uint64_t offset, std::uint64_t count,
                               Deadline deadline) {
    // On a plain thread sendfile() to a broken connection would raise SIGPIPE.
    if (!this_worker()) return send_copied(file, offset, count, deadline);
    return send_by_kernel(file, offset, count, deadline);
}

Result<void> Socket::send_by_kernel(int file, std::uint64_t offset, std::uint64_t count,
                                    Deadline deadline) {
    // sendfile() waits for the disk, and the worker with all its fibers would wait with it. So only
    // what is known to be in the page cache, up to here, is sent by it.
    std::uint64_t cached_to = offset;
    while (count > 0) {
        if (offset == cached_to) {
            std::uint64_t next = std::min<std::uint64_t>(count, kSendFileBytesMax);
            calls::Cached cached = calls::is_cached(file, offset, next);
            if (cached == calls::Cached::No) {
                next = std::min<std::uint64_t>(next, kColdBytes);
                WEFT_TRY(send_copied(file, offset, next, deadline));
                offset += next;
                count -= next;
                cached_to = offset;
                continue;
            }
            if (cached == calls::Cached::Unknown)
                WEFT_TRY(warm_sent_file(file, offset, next, deadline));
            cached_to = offset + next;
        }
        WEFT_DASSERT(offset != cached_to && cached_to - offset <= count, "of what is left to send");
        auto some = static_cast<std::size_t>(cached_to - offset);
        auto send = [&](int fd) { return calls::send_file(fd, file, offset, some); };
        Result<long> sent = descriptor_.until_ready(kWritable, send, deadline);
        // Not every file can be sent by the kernel.
        if (!sent && (sent.error().native_code() == EINVAL || sent.error().native_code() == ENOSYS))
            return send_copied(file, offset, count, deadline);
        if (!sent) return with_peer(sent.error(), "send a file to");
        if (*sent == 0) return Error(ErrorKind::Closed, "the file ends too early");
        WEFT_ASSERT(static_cast<std::size_t>(*sent) <= some, "or `count` would wrap around");
        offset += static_cast<std::uint64_t>(*sent);
        count -= static_cast<std::uint64_t>(*sent);
    }
    return {};
}

Result<void> Socket::send_copied(int file, std::uint64_t offset, std::uint64_t count,
                                 Deadline deadline) {
    std::vector<std::byte> buffer(
        static_cast<std::size_t>(std::min<std::uint64_t>(count, kCopyBytes)));
    while (count > 0) {
        auto some = static_cast<std::size_t>(std::min<std::uint64_t>(count, buffer.size()));
        ByteSpace space(buffer.data(), some);
        std::size_t bytes = WEFT_TRY(read_sent_file(file, offset, space, deadline));
        WEFT_ASSERT(bytes > 0 && bytes <= count, "or the loop would not end with the count");
        WEFT_TRY(write_all(space.first(bytes), deadline));
        offset += bytes;
        count -= bytes;
    }
    return {};
}

Result<void> Socket::shutdown_write(Deadline) {
    Result<long> result = descriptor_.with_fd(calls::shutdown_write);
    // ENOTCONN means that the connection was there and is gone.
    if (!result && result.error().native_code() == ENOTCONN)
        return with_peer(Error(ErrorKind::Reset, ENOTCONN), "shut down");
    if (!result) return with_peer(result.error(), "shut down");
    return {};
}

Result<void> Socket::apply(const SocketOptions& options) {
    Address local = WEFT_TRY(calls::local_address(descriptor_));
    return set_all(descriptor_, options, local.kind());
}

Result<void> Socket::reset_on_close() {
    WEFT_TRY(descriptor_.with_fd(calls::set_linger_zero));
    return {};
}

Result<void> Socket::wait_in_kernel(Nanoseconds slice) {
    // When the slice is over the call gives EAGAIN, and the thread waits as any other does.
    WEFT_TRY(descriptor_.with_fd([&](int fd) { return calls::set_blocking(fd, slice); }));
    return {};
}

Address Socket::peer_address() const {
    return calls::peer_address(descriptor_).value_or(Address()).unmapped();
}

Address Socket::local_address() const {
    return calls::local_address(descriptor_).value_or(Address()).unmapped();
}

// ---------------------------------------------------------------- Listener

Listener::Listener(Descriptor descriptor, Address address)
    : descriptor_(std::move(descriptor)), address_(std::move(address)) {}

Listener::Listener(Listener&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      address_(std::move(other.address_)),
      // Relaxed, here and below: the owner moves it, and nobody else is in a call.
      file_(other.file_.exchange(0, std::memory_order_relaxed)) {}

Listener& Listener::operator=(Listener&& other) noexcept {
    if (this == &other) return *this;
    close();
    descriptor_ = std::move(other.descriptor_);
    address_ = std::move(other.address_);
    // Relaxed: as above.
    file_.store(other.file_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
}

Listener::~Listener() { close(); }

Result<Listener> Listener::open(const Address& address, const ListenOptions& options) {
    if (options.inherited >= 0) {
        Listener taken(WEFT_TRY(Descriptor::adopt(options.inherited)), address);
        taken.address_ = WEFT_TRY(calls::local_address(taken.descriptor_));
        return taken;
    }
    Result<Listener> listener = open_at(address, options);
    if (listener || address != Address::any(address.port()) || options.v6_only ||
        !is_lack_of_ipv6(listener.error()))
        return in_context(std::move(listener), "listen on", address.to_string());
    Address by_ipv4(IpAddress(), address.port());
    return in_context(open_at(by_ipv4, options), "listen on", by_ipv4.to_string());
}

Result<Listener> Listener::open_at(const Address& address, const ListenOptions& options) {
    Descriptor opened = WEFT_TRY(open_stream(address));
    Listener listener(std::move(opened), address);
    Descriptor& descriptor = listener.descriptor_;
    if (address.kind() == Address::Kind::Ip) {
        // Connections of a former listener that still linger do not keep the port.
        WEFT_TRY(set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1));
        // Accepted sockets inherit it.
        WEFT_TRY(set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1));
        if (options.reuse_port == ReusePort::Yes)
            WEFT_TRY(set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1));
        if (!address.ip().is_v4())
            WEFT_TRY(set(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only));
    }
    WEFT_TRY(listener.bind(options));
    WEFT_TRY(as_result(calls::listen(descriptor.fd(), options.backlog)));
    listener.address_ = WEFT_TRY(calls::local_address(descriptor));
    return listener;
}

Result<void> Listener::bind(const ListenOptions& options) {
    // Relaxed: nobody else knows the listener yet.
    WEFT_ASSERT(file_.load(std::memory_order_relaxed) == 0, "a listener is bound once");
    int result = calls::bind(descriptor_.fd(), address_);
    bool has_file = address_.kind() == Address::Kind::Unix && !address_.path().starts_with('@');
    // NB: of two listeners that find the same stale file at the same time, one may remove the new
    // file of the other.
    if (result == -EADDRINUSE && has_file && is_stale(address_)) {
        calls::remove(address_.path());
        result = calls::bind(descriptor_.fd(), address_);
    }
    WEFT_TRY(as_result(result));
    if (!has_file) return {};
    // Relaxed: nobody else knows the listener yet.
    file_.store(calls::socket_inode(address_.path()), std::memory_order_relaxed);
    // Before it listens, so that nobody connects under the mode that the process's umask has given.
    return as_result(calls::set_mode(address_.path(), options.unix_mode));
}

Result<Socket> Listener::accept(Deadline deadline) {
    for (;;) {
        Result<long> fd = descriptor_.until_ready(kReadable, calls::accept, deadline);
        if (fd) return Socket::adopt_nonblocking(static_cast<int>(*fd));
        if (!concerns_the_connection(fd.error().native_code())) return with_address(fd.error());
        if (WEFT_PLANTED("listener.stops_at_the_aborted")) return fd.error();
    }
}

Result<std::optional<Socket>> Listener::try_accept() {
    for (;;) {
        Result<std::optional<long>> fd = descriptor_.try_once(kReadable, calls::accept);
        if (fd && !*fd) return std::optional<Socket>();
        if (fd) return std::optional(Socket::adopt_nonblocking(static_cast<int>(**fd)));
        if (!concerns_the_connection(fd.error().native_code())) return with_address(fd.error());
    }
}

Error Listener::with_address(const Error& error) const {
    if (error.kind() == ErrorKind::Closed || error.kind() == ErrorKind::Cancelled) return error;
    return error.with_context("accept on", address_.to_string());
}

void Listener::close() {
    remove_file();
    descriptor_.close();
}

void Listener::remove_file() {
    // Relaxed: no other memory is read through it; of several who close, one gets the number.
    std::uint64_t file = file_.exchange(0, std::memory_order_relaxed);
    // It may have been replaced by another listener's.
    if (file != 0 && calls::socket_inode(address_.path()) == file) calls::remove(address_.path());
}

void raise_descriptor_limit() { calls::raise_descriptor_limit(); }
std::size_t descriptor_limit() { return calls::descriptor_limit(); }

}  // namespace weft::net
