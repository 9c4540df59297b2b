#include "weft/net/udp.h"

#include <sys/socket.h>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/net/internal/calls.h"

namespace weft::net {
namespace {

Datagram datagram_of(std::size_t count, const calls::DatagramSpace& space) {
    WEFT_ASSERT(count <= space.bytes.size(), "a datagram is cut to the space");
    Result<Address> from =
        Address::from_native(reinterpret_cast<const sockaddr*>(&space.from), space.from_bytes);
    return {count, from.value_or(Address()), space.truncated};
}

}  // namespace

Result<UdpSocket> UdpSocket::make(const Address& address) {
    if (address.kind() != Address::Kind::Ip)
        return Error(ErrorKind::Misuse, "datagrams go over IP only");
    int fd = calls::socket(calls::family_of(address), SOCK_DGRAM);
    if (fd < 0)
        return Error::from_errno(-fd).with_context("open a socket for", address.to_string());
    return UdpSocket(Descriptor::adopt_nonblocking(fd, Flow::Unknown));
}

Result<UdpSocket> UdpSocket::open(const Address& address) {
    UdpSocket socket = WEFT_TRY(make(address));
    auto bound = socket.descriptor_.with_fd([&](int fd) { return calls::bind(fd, address); });
    if (!bound) return bound.error().with_context("bind to", address.to_string());
    return socket;
}

Result<UdpSocket> UdpSocket::connect(const Address& peer) {
    UdpSocket socket = WEFT_TRY(make(peer));
    auto connected = socket.descriptor_.with_fd([&](int fd) { return calls::connect(fd, peer); });
    if (!connected) return connected.error().with_context("connect", peer.to_string());
    return socket;
}

Result<void> UdpSocket::send_one(Bytes bytes, const Address* to, Deadline deadline) {
    auto send = [&](int fd) { return calls::send_datagram(fd, bytes, to); };
    Result<long> sent = descriptor_.until_ready(kWritable, send, deadline);
    WEFT_DASSERT(!sent || static_cast<std::size_t>(*sent) == bytes.size(), "it is sent whole");
    if (sent) return {};
    if (sent.error().kind() == ErrorKind::Closed) return sent.error();
    std::string what = format("send a datagram of {} bytes to", bytes.size());
    return sent.error().with_context(what, (to ? *to : peer_address()).to_string());
}

Result<void> UdpSocket::send_to(Bytes bytes, const Address& to, Deadline deadline) {
    return send_one(bytes, &to, deadline);
}

Result<void> UdpSocket::send(Bytes bytes, Deadline deadline) {
    return send_one(bytes, nullptr, deadline);
}

Result<Datagram> UdpSocket::receive_from(ByteSpace space, Deadline deadline) {
    calls::DatagramSpace datagram{.bytes = space};
    auto receive = [&](int fd) { return calls::receive_datagram(fd, datagram); };
    Result<long> count = descriptor_.until_ready(kReadable, receive, deadline);
    if (count) return datagram_of(static_cast<std::size_t>(*count), datagram);
    if (count.error().kind() == ErrorKind::Closed) return count.error();
    return count.error().with_context("receive a datagram on", local_address().to_string());
}

Result<std::optional<Datagram>> UdpSocket::try_receive_from(ByteSpace space) {
    calls::DatagramSpace datagram{.bytes = space};
    auto receive = [&](int fd) { return calls::receive_datagram(fd, datagram); };
    std::optional<long> count = WEFT_TRY(descriptor_.try_once(kReadable, receive));
    if (!count) return std::optional<Datagram>();
    return std::optional(datagram_of(static_cast<std::size_t>(*count), datagram));
}

Address UdpSocket::local_address() const {
    return calls::local_address(descriptor_).value_or(Address());
}

Address UdpSocket::peer_address() const {
    return calls::peer_address(descriptor_).value_or(Address());
}

}  // namespace weft::net
