// Sockets that carry streams: TCP and Unix, which differ only in their Address.
//
//     auto listener = WEFT_TRY(Listener::open(Address::loopback(0)));
//     auto client = WEFT_TRY(Socket::connect(listener.address(), Deadline::after(1s)));
//     auto server = WEFT_TRY(listener.accept());
//
// Errors are values with a cause: Refused, Reset, Unreachable, AddressInUse, OutOfFds, ... Their
// text names the other side: "connect 127.0.0.1:80: Connection refused".
// Any fiber and any thread; on a plain thread calls block the thread (logged once, at debug level).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/base/atomic.h"
#include "weft/fiber/io.h"
#include "weft/net/address.h"
#include "weft/net/stream.h"

namespace weft::net {

struct SocketOptions {
    bool no_delay = true;          // TCP: small writes leave at once
    bool keep_alive = false;       // TCP: the kernel probes whether an idle peer is still there
    int send_buffer_bytes = 0;     // 0: the kernel's choice
    int receive_buffer_bytes = 0;  // 0: the kernel's choice
};

class Socket final : public Stream {
public:
    Socket() = default;  // no socket: every call gives Closed
    // Takes over a connected, non-blocking stream socket.
    static Socket adopt_nonblocking(int fd);
    static Result<Socket> connect(const Address& address, Deadline deadline = Deadline::never(),
                                  const SocketOptions& options = {});
    // Two sockets that are connected with each other.
    static Result<std::pair<Socket, Socket>> make_pair();

    Socket(Socket&&) noexcept = default;
    Socket& operator=(Socket&&) noexcept = default;

    Result<std::size_t> read(ByteSpace space, Deadline deadline = Deadline::never()) override;
    Result<std::optional<std::size_t>> try_read(ByteSpace space) override;
    Result<void> write_all(Bytes bytes, Deadline deadline = Deadline::never()) override;
    Result<void> write_all(std::span<const Bytes> parts,
                           Deadline deadline = Deadline::never()) override;
    Result<std::size_t> try_write(std::span<const Bytes> parts) override;
    Result<void> send_file(int file, std::uint64_t offset, std::uint64_t count,
                           Deadline deadline = Deadline::never()) override;
    Result<void> shutdown_write(Deadline deadline = Deadline::never()) override;
    void close() override { descriptor_.close(); }
    Result<void> reset_on_close() override;

    Result<std::size_t> read_vectored(std::span<const ByteSpace> spaces,
                                      Deadline deadline = Deadline::never());

    Result<void> apply(const SocketOptions& options);
    // For a socket that only plain threads use: they then wait inside recv() and send(), which
    // costs less than poll(). They notice a close and a cancel after `slice` at the latest.
    Result<void> wait_in_kernel(Nanoseconds slice);

    Descriptor& descriptor() override { return descriptor_; }
    // 0.0.0.0:0 when there is none. A peer that came by IPv4 has an IPv4 address, also on a
    // listener for both families.
    Address peer_address() const override;
    Address local_address() const override;

private:
    explicit Socket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
    static Result<Socket> connect_to(const Address& address, Deadline deadline,
                                     const SocketOptions& options);
    Result<void> send_by_kernel(int file, std::uint64_t offset, std::uint64_t count,
                                Deadline deadline);
    Result<std::size_t> try_write_several(std::span<const Bytes> parts);
    Error with_peer(const Error& error, std::string_view action) const;
    Result<void> send_copied(int file, std::uint64_t offset, std::uint64_t count,
                             Deadline deadline);

    mutable Descriptor descriptor_;  // mutable: a query for an address holds it open meanwhile
    // What connect() was given, for the texts of errors: the kernel forgets the peer of a broken
    // connection.
    std::unique_ptr<const Address> connected_to_;
};

// Raises the process's soft limit on descriptors to its hard limit: the soft limit of most systems
// is made for programs that use select(2). Servers call it when they begin to listen.
void raise_descriptor_limit();
// How many descriptors the process may have; SIZE_MAX in simulation.
std::size_t descriptor_limit();

enum class ReusePort : bool { No, Yes };

struct ListenOptions {
    int backlog = 4096;
    ReusePort reuse_port = ReusePort::No;  // several listeners share one TCP port
    bool v6_only = false;
    unsigned unix_mode = 0666;  // of the file of a Unix socket
    // Not -1: a listening socket that another process has opened; it is taken over and none is
    // opened. The file of a Unix socket then stays that process's.
    int inherited = -1;
};

// A stale file at the path of a Unix listener is replaced; the listener's own is removed at close.
class Listener {
public:
    Listener() = default;
    static Result<Listener> open(const Address& address, const ListenOptions& options = {});
    Listener(Listener&&) noexcept;
    Listener& operator=(Listener&&) noexcept;
    ~Listener();

    // OutOfFds and OutOfMemory leave the connection in the backlog: wait a little, then try again.
    Result<Socket> accept(Deadline deadline = Deadline::never());
    Result<std::optional<Socket>> try_accept();

    const Address& address() const { return address_; }  // with the port that the kernel chose
    Descriptor& descriptor() { return descriptor_; }
    void close();

private:
    Listener(Descriptor descriptor, Address address);
    static Result<Listener> open_at(const Address& address, const ListenOptions& options);
    Error with_address(const Error& error) const;
    Result<void> bind(const ListenOptions& options);
    void remove_file();

    Descriptor descriptor_;
    Address address_;
    Atomic<std::uint64_t> file_{0};  // the inode of the Unix socket's file; 0: none
};

}  // namespace weft::net
