// The system calls of sockets: the kernel's, or those of the simulated machine that runs.
//
// Each returns a count, a descriptor or 0, or -errno, and none waits unless its comment says so.
// EINTR is never returned, and a broken connection raises no SIGPIPE, except in send_file(). Any
// thread.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>  // tidy: allow foreign: parts of a vectored call

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/time.h"
#include "weft/fiber/io.h"
#include "weft/net/address.h"

namespace weft::net::calls {

// Non-blocking and close-on-exec.
int socket(int family, int type);
int socket_pair(int (&ends)[2]);
int bind(int fd, const Address& address);
int listen(int fd, int backlog);
int accept(int fd);
int connect(int fd, const Address& address);
int shutdown_write(int fd);
int set_option(int fd, int level, int name, int value);
int set_linger_zero(int fd);
// From then on the calls that send to and receive from `fd` do wait, up to `slice` each.
int set_blocking(int fd, Nanoseconds slice);
long send_parts(int fd, std::span<const iovec> parts);
long receive_parts(int fd, std::span<const iovec> parts);

// Datagrams; there are none in simulation. A null `to` is the connected peer.
long send_datagram(int fd, Bytes bytes, const Address* to);
struct DatagramSpace {
    ByteSpace bytes;
    sockaddr_storage from{};
    std::size_t from_bytes = 0;
    bool truncated = false;
};
long receive_datagram(int fd, DatagramSpace& space);

int family_of(const Address& address);
Result<Address> local_address(Descriptor& descriptor);
Result<Address> peer_address(Descriptor& descriptor);

// -ENOSYS in simulation. On a broken connection it raises SIGPIPE, which workers have blocked and
// plain threads have not.
long send_file(int fd, int file, std::uint64_t offset, std::size_t count);
// Waits for the disk.
long read_at(int file, std::uint64_t offset, void* space, std::size_t bytes);
// Reads only what is in the page cache, perhaps less than was asked for: -EAGAIN if that is
// nothing, another error where the kernel cannot tell.
long read_cached_at(int file, std::uint64_t offset, void* space, std::size_t bytes);
// Whether all of that part is in the page cache. Not every file system can tell. In simulation
// everything is.
enum class Cached : std::uint8_t { No, Yes, Unknown };
Cached is_cached(int file, std::uint64_t offset, std::uint64_t count);

// The file of a Unix socket. In simulation such a socket is a name without a file.
std::uint64_t socket_inode(const std::string& path);  // 0 when it is not a socket
int set_mode(const std::string& path, unsigned mode);
int remove(const std::string& path);

// Raises the soft limit on descriptors to the hard one. Does nothing in simulation.
void raise_descriptor_limit();
std::size_t descriptor_limit();  // SIZE_MAX in simulation

}  // namespace weft::net::calls
