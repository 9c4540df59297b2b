// EnvSockets: what Weft asks of the network of the machine it runs on.
//
// The part of Env (env.h) for sockets, with the arguments of socket(2). weft/net makes these calls:
// to the kernel, or to this interface in a thread that executes a simulated machine. All return a
// count, a descriptor or 0, or -errno; none of them waits.
#pragma once

#include <cstddef>
#include <span>

struct iovec;

namespace weft {

class EnvSockets {
public:
    virtual int socket(int family, int type) = 0;
    virtual int socket_pair(int (&ends)[2]) = 0;
    virtual int bind(int fd, const void* address, std::size_t bytes) = 0;
    virtual int listen(int fd, int backlog) = 0;
    virtual int accept(int fd) = 0;
    virtual int connect(int fd, const void* address, std::size_t bytes) = 0;
    virtual int shutdown(int fd, int how) = 0;
    // Both return the length of the address. `space` must have room for an address of any family.
    virtual int local_name(int fd, void* space, std::size_t bytes) = 0;
    virtual int peer_name(int fd, void* space, std::size_t bytes) = 0;
    virtual int set_option(int fd, int level, int name, const void* value, std::size_t bytes) = 0;
    virtual long send_parts(int fd, std::span<const iovec> parts) = 0;
    virtual long receive_parts(int fd, std::span<const iovec> parts) = 0;

protected:
    ~EnvSockets() = default;
};

}  // namespace weft
