// Datagrams: UDP over IPv4 and IPv6.
//
//     auto server = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
//     auto client = WEFT_TRY(UdpSocket::connect(server.local_address()));
//     WEFT_TRY(client.send(as_bytes("ping")));
//     Datagram ping = WEFT_TRY(server.receive_from(space));
//
// A datagram may arrive whole, cut to the space that it is given, twice, late or not at all. Any
// fiber and any thread; waits park a fiber and block a thread, and honour the ambient token and the
// deadline. There are no datagrams in simulation.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/io.h"
#include "weft/net/address.h"

namespace weft::net {

struct Datagram {
    std::size_t count = 0;  // 0 is a datagram too: an empty one
    Address from;
    bool truncated = false;  // it was longer than the space; the rest is lost
};

class UdpSocket {
public:
    UdpSocket() = default;  // no socket: every call gives Closed
    // At an address of this machine; port 0 lets the kernel choose.
    static Result<UdpSocket> open(const Address& address);
    // Sends to this peer and receives from nobody else. When nothing listens there, its host
    // reports that, and a later send() or receive() gives Refused.
    static Result<UdpSocket> connect(const Address& peer);

    // Limit when it is longer than any datagram can be.
    Result<void> send_to(Bytes bytes, const Address& to, Deadline deadline = Deadline::never());
    Result<Datagram> receive_from(ByteSpace space, Deadline deadline = Deadline::never());
    Result<std::optional<Datagram>> try_receive_from(ByteSpace space);

    // To and from the connected peer.
    Result<void> send(Bytes bytes, Deadline deadline = Deadline::never());
    Result<Datagram> receive(ByteSpace space, Deadline deadline = Deadline::never()) {
        return receive_from(space, deadline);
    }

    // Ends every call that is under way, and every later one, with Closed. Idempotent, does not
    // wait.
    void close() { descriptor_.close(); }
    Descriptor& descriptor() { return descriptor_; }
    Address local_address() const;  // 0.0.0.0:0 when there is none
    Address peer_address() const;

private:
    explicit UdpSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
    static Result<UdpSocket> make(const Address& address);
    Result<void> send_one(Bytes bytes, const Address* to, Deadline deadline);

    mutable Descriptor descriptor_;  // mutable: a query for an address holds it open meanwhile
};

}  // namespace weft::net
