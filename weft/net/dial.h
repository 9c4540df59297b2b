// dial: a connection to a host, by whichever of its addresses answers first.
//
//     Socket socket = WEFT_TRY(dial(resolver, "example.org", 443, Deadline::after(5s)));
//
// Happy eyeballs (RFC 8305): the addresses are tried in turn, IPv6 first and then the two families
// alternately. The next attempt begins when the one before has failed, or has not connected within
// the attempt delay; then both are under way. The first connection wins, and the other attempts are
// ended before dial returns. If all fail, the error is the most telling one of them, with host and
// address.
//
// Any fiber. On a plain thread each attempt ends before the next begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/net/address.h"
#include "weft/net/resolver.h"
#include "weft/net/socket.h"

namespace weft::net {

constexpr std::size_t kDialAddressesMax = 16;  // further ones are not tried

struct DialOptions {
    SocketOptions socket = {};
    Nanoseconds attempt_delay = std::chrono::milliseconds(250);
    // Called with each address right before it is tried, after the name was resolved. An error
    // skips that address. Empty: every address is allowed.
    std::function<Result<void>(const Address& address)> allow = {};
};

Result<Socket> dial(Resolver& resolver, std::string_view host, std::uint16_t port,
                    Deadline deadline = Deadline::never(), const DialOptions& options = {});

// In the order in which they are tried: RFC 8305 §4.
std::vector<IpAddress> interleaved(const std::vector<IpAddress>& addresses);

}  // namespace weft::net
