// Resolver: the addresses behind a name.
//
//     Resolver resolver;
//     std::vector<IpAddress> addresses = WEFT_TRY(resolver.resolve("example.org", deadline));
//
// Asks /etc/hosts and the servers of /etc/resolv.conf, A and AAAA at once, without a thread. Names
// are absolute: there are no search domains. Addresses are cached for their TTL (but at least
// kDnsTtlMin and at most kDnsTtlMax), and that a name does not exist for kDnsNegativeTtl. Callers
// who ask for one name at the same time share one query, which continues when one of them gives up.
//
// `localhost` and names below it are always this machine (RFC 6761 §6.3), and a literal address
// resolves to itself. What only resembles one, such as 127.1 or 0x7f000001, is refused as a name.
// In simulation only the names of the table exist.
//
// Any fiber and any thread; a plain thread blocks. Errors are of kind Dns, with the name and the
// reason: NXDOMAIN, no address, timeout, SERVFAIL, ...
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/net/address.h"

namespace weft::net {

constexpr Nanoseconds kDnsTtlMin = std::chrono::seconds(1);
constexpr Nanoseconds kDnsTtlMax = std::chrono::minutes(5);
constexpr Nanoseconds kDnsNegativeTtl = std::chrono::seconds(5);
// How long the answer of one family waits for that of the other (RFC 8305 §3).
constexpr Nanoseconds kDnsResolutionDelay = std::chrono::milliseconds(50);
constexpr std::size_t kDnsQueriesMax = 1024;  // under way at once; more give Limit

struct ResolverOptions {
    std::vector<Address> servers = {};  // none: those of the system
    // How often each server is asked, and how long the first try waits for its answer; the next
    // one waits twice as long.
    int tries = 2;
    Nanoseconds query_timeout = std::chrono::seconds(2);
    std::size_t cached_names_max = 1024;
    // Names, in lower case, that are answered from here and never looked up.
    std::map<std::string, std::vector<IpAddress>, std::less<>> table = {};
};

class Resolver {
public:
    explicit Resolver(ResolverOptions options = {});
    Resolver(Resolver&&) noexcept;
    Resolver& operator=(Resolver&&) noexcept;
    ~Resolver();

    // At least one, in the order of the answer, those of IPv6 and IPv4 mixed.
    Result<std::vector<IpAddress>> resolve(std::string_view name,
                                           Deadline deadline = Deadline::never());

    // How many names were looked up, because neither the cache nor the table had them.
    std::uint64_t queries() const;

private:
    struct State;
    std::shared_ptr<State> state_;  // shared by the resolver and the queries that are under way
};

}  // namespace weft::net
