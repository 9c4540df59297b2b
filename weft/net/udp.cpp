#include "weft/net/udp.h"

#include <sys/socket.h>

#include "weft/net/internal/calls.h"

namespace weft::net {
namespace {

Datagram datagram_of(std::size_t count, const calls::DatagramSpace& space) {
    Result<Address> from =
        Address::from_native(reinterpret_cast<const sockaddr*>(&space.from), space.from_bytes);
    return {count, from.value_or(Address()), space.truncated};
}

}  // namespace

Result<UdpSocket> UdpSocket::make(const Address& address) {
    if (address.kind() != Address::Kind::Ip)
        return Error(ErrorKind::Misuse, "datagrams go over IP only");
    int fd = calls::socket(calls::family_of(address), SOCK_DGRAM);
    if (fd < 0) return Error::from_errno(-fd);
    return UdpSocket(Descriptor::adopt_nonblocking(fd, Flow::Unknown));
}

Result<UdpSocket> UdpSocket::open(const Address& address) {
    UdpSocket socket = WEFT_TRY(make(address));
    WEFT_TRY(socket.descriptor_.with_fd([&](int fd) { return calls::bind(fd, address); }));
    return socket;
}

Result<UdpSocket> UdpSocket::connect(const Address& peer) {
    UdpSocket socket = WEFT_TRY(make(peer));
    WEFT_TRY(socket.descriptor_.with_fd([&](int fd) { return calls::connect(fd, peer); }));
    return socket;
}

Result<void> UdpSocket::send_one(Bytes bytes, const Address* to, Deadline deadline) {
    auto send = [&](int fd) { return calls::send_datagram(fd, bytes, to); };
    WEFT_TRY(descriptor_.until_ready(kWritable, send, deadline));
    return {};
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
    long count = WEFT_TRY(descriptor_.until_ready(kReadable, receive, deadline));
    return datagram_of(static_cast<std::size_t>(count), datagram);
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
