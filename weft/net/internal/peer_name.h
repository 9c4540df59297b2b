// The name of a connection's peer in the text of an error.
#pragma once

#include <string>

#include "weft/net/address.h"

namespace weft::net {

// The ends of a socket pair have no address, and the kernel forgets that of a broken connection.
inline std::string peer_name(const Address& peer) {
    bool is_nameless =
        peer == Address() || (peer.kind() == Address::Kind::Unix && peer.path().empty());
    return is_nameless ? "a peer without an address" : peer.to_string();
}

}  // namespace weft::net
