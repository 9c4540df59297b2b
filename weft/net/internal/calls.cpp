#include "weft/net/internal/calls.h"

#include <fcntl.h>  // tidy: allow foreign: sockets that block
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>  // tidy: allow foreign: the limit on descriptors
#include <sys/sendfile.h>  // tidy: allow foreign: files to sockets
#include <sys/stat.h>      // tidy: allow foreign: the file of a Unix socket
#include <sys/syscall.h>   // tidy: allow foreign: what of a file is in memory
#include <unistd.h>        // tidy: allow foreign: the file of a Unix socket

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/env_files.h"
#include "weft/base/env_sockets.h"
#include "weft/fiber/io/system_call.h"

// Functions that read errno stay out of line: their callers park and may resume on another thread,
// and an inlined call could use the address of the first thread's errno there.
#define WEFT_KERNEL_CALL [[gnu::noinline]]

namespace weft::net::calls {
namespace {

// Makes the simulated call if this thread plays a simulated machine, else the kernel's.
template <class Simulated, class Kernel>
auto ask(Simulated simulated, Kernel kernel) -> decltype(kernel()) {
    Env* machine = env::current();
    if (!machine) [[likely]]
        return kernel();
    return simulated(machine->sockets());
}

// Repeats the call as long as a signal interrupts it.
template <class Call>
auto retrying(Call call) -> decltype(call()) {
    for (;;) {
        auto result = call();
        if (result >= 0) return result;
        if (errno != EINTR) return -errno;
    }
}

struct Native {
    explicit Native(const Address& address)
        : bytes(static_cast<socklen_t>(address.to_native(&storage))) {
        WEFT_DASSERT(bytes <= sizeof storage, "the kernel would read behind it");
    }
    const sockaddr* pointer() const { return reinterpret_cast<const sockaddr*>(&storage); }

    sockaddr_storage storage{};
    socklen_t bytes;
};

}  // namespace

WEFT_KERNEL_CALL int socket(int family, int type) {
    return ask([&](EnvSockets& sockets) { return sockets.socket(family, type); },
               [&] {
                   constexpr int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
                   return retrying([&] { return ::socket(family, type | flags, 0); });
               });
}

WEFT_KERNEL_CALL int socket_pair(int (&ends)[2]) {
    return ask([&](EnvSockets& sockets) { return sockets.socket_pair(ends); },
               [&] {
                   constexpr int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
                   return retrying([&] { return ::socketpair(AF_UNIX, type, 0, ends); });
               });
}

WEFT_KERNEL_CALL int bind(int fd, const Address& address) {
    Native native(address);
    return ask(
        [&](EnvSockets& sockets) { return sockets.bind(fd, native.pointer(), native.bytes); },
        [&] { return retrying([&] { return ::bind(fd, native.pointer(), native.bytes); }); });
}

WEFT_KERNEL_CALL int listen(int fd, int backlog) {
    return ask([&](EnvSockets& sockets) { return sockets.listen(fd, backlog); },
               [&] { return retrying([&] { return ::listen(fd, backlog); }); });
}

WEFT_KERNEL_CALL int accept(int fd) {
    return ask([&](EnvSockets& sockets) { return sockets.accept(fd); },
               [&] {
                   constexpr int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
                   return static_cast<int>(retry_interrupted(
                       [&] { return ::accept4(fd, nullptr, nullptr, flags); },
                       [&] { return system_call(SYS_accept4, fd, nullptr, nullptr, flags); }));
               });
}

WEFT_KERNEL_CALL int connect(int fd, const Address& address) {
    Native native(address);
    return ask(
        [&](EnvSockets& sockets) { return sockets.connect(fd, native.pointer(), native.bytes); },
        // The kernel continues to connect after a signal; a second call tells how far it is.
        [&] { return retrying([&] { return ::connect(fd, native.pointer(), native.bytes); }); });
}

WEFT_KERNEL_CALL int shutdown_write(int fd) {
    return ask([&](EnvSockets& sockets) { return sockets.shutdown(fd, SHUT_WR); },
               [&] { return retrying([&] { return ::shutdown(fd, SHUT_WR); }); });
}

namespace {

WEFT_KERNEL_CALL int set(int fd, int level, int name, const void* value, std::size_t bytes) {
    return ask(
        [&](EnvSockets& sockets) { return sockets.set_option(fd, level, name, value, bytes); },
        [&] {
            auto size = static_cast<socklen_t>(bytes);
            return retrying([&] { return ::setsockopt(fd, level, name, value, size); });
        });
}

}  // namespace

int set_option(int fd, int level, int name, int value) {
    return set(fd, level, name, &value, sizeof value);
}

int set_linger_zero(int fd) {
    linger at_once{.l_onoff = 1, .l_linger = 0};
    return set(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

WEFT_KERNEL_CALL int set_blocking(int fd, Nanoseconds slice) {
    if (env::current()) return -ENOSYS;
    // A time limit of 0 would mean to wait for ever.
    auto microseconds =
        std::max(std::chrono::ceil<std::chrono::microseconds>(slice), std::chrono::microseconds(1))
            .count();
    timeval time{.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
    for (int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
        int result = set(fd, SOL_SOCKET, option, &time, sizeof time);
        if (result < 0) return result;
    }
    int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) return -errno;
    return 0;
}

namespace {

WEFT_KERNEL_CALL int local_name(int fd, sockaddr_storage& name) {
    return ask([&](EnvSockets& sockets) { return sockets.local_name(fd, &name, sizeof name); },
               [&] {
                   socklen_t bytes = sizeof name;
                   auto* space = reinterpret_cast<sockaddr*>(&name);
                   int result = retrying([&] { return ::getsockname(fd, space, &bytes); });
                   return result < 0 ? result : static_cast<int>(bytes);
               });
}

WEFT_KERNEL_CALL int peer_name(int fd, sockaddr_storage& name) {
    return ask([&](EnvSockets& sockets) { return sockets.peer_name(fd, &name, sizeof name); },
               [&] {
                   socklen_t bytes = sizeof name;
                   auto* space = reinterpret_cast<sockaddr*>(&name);
                   int result = retrying([&] { return ::getpeername(fd, space, &bytes); });
                   return result < 0 ? result : static_cast<int>(bytes);
               });
}

Result<Address> name_of(Descriptor& descriptor, int (*ask_for)(int, sockaddr_storage&)) {
    sockaddr_storage name{};
    long bytes = WEFT_TRY(descriptor.with_fd([&](int fd) { return ask_for(fd, name); }));
    return Address::from_native(reinterpret_cast<const sockaddr*>(&name),
                                static_cast<std::size_t>(bytes));
}

}  // namespace

Result<Address> local_address(Descriptor& descriptor) { return name_of(descriptor, local_name); }

Result<Address> peer_address(Descriptor& descriptor) { return name_of(descriptor, peer_name); }

int family_of(const Address& address) {
    if (address.kind() == Address::Kind::Unix) return AF_UNIX;
    return address.ip().is_v4() ? AF_INET : AF_INET6;
}

WEFT_KERNEL_CALL long send_parts(int fd, std::span<const iovec> parts) {
    WEFT_DASSERT(parts.size() <= IOV_MAX, "the kernel refuses more");
    return ask([&](EnvSockets& sockets) { return sockets.send_parts(fd, parts); },
               [&]() -> long {
                   msghdr message{};
                   message.msg_iov = const_cast<iovec*>(parts.data());
                   message.msg_iovlen = parts.size();
                   return retry_interrupted(
                       [&] { return ::sendmsg(fd, &message, MSG_NOSIGNAL); },
                       [&] { return system_call(SYS_sendmsg, fd, &message, MSG_NOSIGNAL); });
               });
}

WEFT_KERNEL_CALL long receive_parts(int fd, std::span<const iovec> parts) {
    WEFT_DASSERT(parts.size() <= IOV_MAX, "the kernel refuses more");
    return ask([&](EnvSockets& sockets) { return sockets.receive_parts(fd, parts); },
               [&]() -> long {
                   msghdr message{};
                   message.msg_iov = const_cast<iovec*>(parts.data());
                   message.msg_iovlen = parts.size();
                   return retry_interrupted(
                       [&] { return ::recvmsg(fd, &message, 0); },
                       [&] { return system_call(SYS_recvmsg, fd, &message, 0); });
               });
}

WEFT_KERNEL_CALL long send_datagram(int fd, Bytes bytes, const Address* to) {
    if (env::current()) return -EAFNOSUPPORT;
    if (!to) return retrying([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    Native native(*to);
    return retrying([&] {
        return ::sendto(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL, native.pointer(),
                        native.bytes);
    });
}

WEFT_KERNEL_CALL long receive_datagram(int fd, DatagramSpace& space) {
    if (env::current()) return -EAFNOSUPPORT;
    iovec part{space.bytes.data(), space.bytes.size()};
    msghdr message{};
    message.msg_name = &space.from;
    message.msg_namelen = sizeof space.from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    long count = retrying([&] { return ::recvmsg(fd, &message, 0); });
    space.from_bytes = message.msg_namelen;
    space.truncated = (message.msg_flags & MSG_TRUNC) != 0;
    WEFT_DASSERT(space.from_bytes <= sizeof space.from, "every address fits");
    return count;
}

WEFT_KERNEL_CALL long send_file(int fd, int file, std::uint64_t offset, std::size_t count) {
    WEFT_DASSERT(count > 0, "0 bytes sent would be taken for the end of the file");
    if (env::current()) return -ENOSYS;
    auto position = static_cast<off_t>(offset);
    return retrying([&] { return ::sendfile(fd, file, &position, count); });
}

WEFT_KERNEL_CALL long read_at(int file, std::uint64_t offset, void* space, std::size_t bytes) {
    auto position = static_cast<off_t>(offset);
    if (Env* machine = env::current())
        return machine->files().read_at(file, space, bytes, position);
    return retrying([&] { return ::pread(file, space, bytes, position); });
}

WEFT_KERNEL_CALL long read_cached_at(int file, std::uint64_t offset, void* space,
                                     std::size_t bytes) {
    if (env::current()) return -EOPNOTSUPP;
    auto position = static_cast<off_t>(offset);
    iovec part{space, bytes};
    return retrying([&] { return ::preadv2(file, &part, 1, position, RWF_NOWAIT); });
}

namespace {

// cachestat(2), for which the C library has no function yet: how many pages of the part are in the
// page cache, or -errno where the kernel is older than 6.5 or this process may not ask about the
// file.
WEFT_KERNEL_CALL long cached_pages(int file, std::uint64_t offset, std::uint64_t count) {
    constexpr long kCachestat = 451;
    struct {
        std::uint64_t offset;
        std::uint64_t count;
    } range{offset, count};
    struct {
        std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } pages{};
    long result = retrying([&] { return ::syscall(kCachestat, file, &range, &pages, 0); });
    return result < 0 ? result : static_cast<long>(pages.cached);
}

// 1 if it is, 0 behind the end of the file, -EAGAIN if it is not, another error where the kernel
// cannot tell.
long is_byte_cached(int file, std::uint64_t offset) {
    char byte;
    return read_cached_at(file, offset, &byte, 1);
}

bool cannot_be_told(long result) {
    return result == -EOPNOTSUPP || result == -EINVAL || result == -ENOSYS;
}

}  // namespace

Cached is_cached(int file, std::uint64_t offset, std::uint64_t count) {
    // The least that the kernel reads ahead, and therefore the least that it evicts together.
    constexpr std::uint64_t kStride = 64 * 1024;
    if (env::current() || count == 0) return Cached::Yes;
    std::uint64_t last = offset + count - 1;
    // A page that is still being read from the disk counts as cached below, but cannot be read yet.
    // Pages arrive in order, so the last byte stands for all.
    long byte = is_byte_cached(file, last);
    if (byte != 1 && !cannot_be_told(byte)) return Cached::No;
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::uint64_t pages = last / page - offset / page + 1;
    if (byte == 1 && pages == 1) return Cached::Yes;
    long cached = cached_pages(file, offset, count);
    if (cached >= 0 && static_cast<std::uint64_t>(cached) == pages) return Cached::Yes;
    // NB: on overlayfs the pages belong to the file of the lower layer, and are not counted.
    if (byte != 1) return Cached::Unknown;
    if (cached >= 0) return Cached::No;
    for (std::uint64_t at = offset; at < last; at += kStride) {
        if (is_byte_cached(file, at) != 1) return Cached::No;
    }
    return Cached::Yes;
}

WEFT_KERNEL_CALL std::uint64_t socket_inode(const std::string& path) {
    struct stat status{};
    if (env::current() || ::lstat(path.c_str(), &status) != 0) return 0;
    return S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

WEFT_KERNEL_CALL int set_mode(const std::string& path, unsigned mode) {
    if (env::current()) return 0;
    return retrying([&] { return ::chmod(path.c_str(), mode); });
}

WEFT_KERNEL_CALL int remove(const std::string& path) {
    return retrying([&] { return ::unlink(path.c_str()); });
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (env::current() || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

std::size_t descriptor_limit() {
    rlimit limit{};
    if (env::current() || getrlimit(RLIMIT_NOFILE, &limit) != 0) return SIZE_MAX;
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, SIZE_MAX));
}

}  // namespace weft::net::calls
