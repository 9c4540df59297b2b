// The heads that a proxy forwards: which fields it keeps, and which it adds.
//
// RFC 9110 §7.6: hop-by-hop fields are meant for one connection and are not forwarded: Connection,
// the fields that it names, and a fixed list. Any fiber; nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http/headers.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/http/wire/head.h"

namespace weft::http {

// The field names that Connection lists, without the options close, keep-alive and upgrade.
class ConnectionOptions {
public:
    static constexpr std::size_t kNamesMax = 16;

    // Misuse when there are more.
    static Result<ConnectionOptions> of(const Headers& headers);
    bool name(std::string_view field) const;

private:
    std::vector<std::string_view> names_;  // views of the fields; usually none
};

// Whether a field of a request or a response must not be forwarded.
bool is_hop_by_hop(std::string_view name);

// Whether the upstream may be asked to change protocols. It may not be asked for h2c: requests
// would then pass through the tunnel without being checked here.
bool passes_upgrade(const Request& request);

// How many times the request may still be forwarded, if it has a limit (RFC 9110 §7.6.2).
std::optional<std::uint64_t> forwards_left(const Request& request);

// Appends the head of the request as the upstream gets it. `body_size` is nothing for a chunked
// body. Misuse when the request's Connection fields name too many others.
Result<void> append_request(std::string& output, const Request& request, std::string_view upstream,
                            const ProxyOptions& options, bool has_body,
                            std::optional<std::uint64_t> body_size);

// The value of our Via field for a message received in a version of HTTP; empty without a name.
struct Via {
    explicit Via(const std::string& name)
        : http10(name.empty() ? "" : "1.0 " + name), http11(name.empty() ? "" : "1.1 " + name) {}
    const std::string& of(wire::Version version) const {
        return version == wire::Version::Http11 ? http11 : http10;
    }

    const std::string http10;
    const std::string http11;
};

// The fields of a response for the client, with our Via. All are borrowed: the head and `via` must
// outlive them.
Result<Headers> fields_for_client(const wire::ResponseHead& head, const Via& via);

}  // namespace weft::http
