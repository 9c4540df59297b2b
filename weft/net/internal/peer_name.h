// What the other side of a connection is called in the text of an error.
#pragma once

#include <string>

#include "weft/net/address.h"

namespace weft::net {

// One end of a pair has no address, and of a broken connection the kernel does not know it.
inline std::string peer_name(const Address& peer) {
    bool is_nameless =
        peer == Address() || (peer.kind() == Address::Kind::Unix && peer.path().empty());
    return is_nameless ? "a peer without an address" : peer.to_string();
}

}  // namespace weft::net
