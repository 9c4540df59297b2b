// EgressPolicy: which addresses a program may connect to on behalf of others.
//
// A service that fetches what its users name is one redirect away from its own network: the
// metadata of its cloud, databases, pages for administrators. The policy judges the IP address that
// is about to be connected to, after the name was resolved. So neither the spelling of the name
// matters nor what the name will resolve to the next time.
//
//     auto policy = std::make_shared<net::EgressPolicy>();         // public addresses only
//     WEFT_TRY(policy->allow("10.20.0.0/16:5432"));
//     http::Client client({.check_address = [policy](auto host, const auto& address) {
//         return policy->check(host, address);
//     }});
//
// One thread calls allow(); when it has done so, any thread may call check().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/net/address.h"

namespace weft::net {

class EgressPolicy {
public:
    EgressPolicy() = default;  // public addresses, and what is allowed besides
    static EgressPolicy anywhere();

    // Besides public addresses: "10.0.0.5", "10.0.0.0/8", "fd00::/8", "db.internal", each on one
    // port only if one is given: "10.0.0.0/8:5432", "[fd00::1]:443", "[fd00::/8]:443",
    // "db.internal:5432"; or "unix:/run/app.sock". A name is allowed whatever it resolves to.
    // Misuse for anything else.
    Result<void> allow(std::string_view rule);

    // Whether a connection to `address`, which `host` has been resolved to, may be opened:
    // PermissionDenied says why not.
    Result<void> check(std::string_view host, const Address& address) const;

private:
    struct Network {
        IpAddress first;
        unsigned bits = 0;
        std::uint16_t port = 0;  // 0: every port
    };
    struct Name {
        std::string host;
        std::uint16_t port = 0;
    };

    bool is_allowed(std::string_view host, const Address& address) const;

    bool anywhere_ = false;
    std::vector<Network> networks_;
    std::vector<Name> names_;
    std::vector<std::string> paths_;
};

// What kind of address it is if the internet cannot reach it, such as "a loopback address"; empty
// for a public one. An IPv6 address that carries an IPv4 address (mapped, compatible, NAT64) is
// judged by the latter.
std::string_view why_not_public(const IpAddress& ip);

}  // namespace weft::net
