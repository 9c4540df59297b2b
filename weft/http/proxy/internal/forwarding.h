// What of a head a proxy passes on, and what it adds.
//
// RFC 9110 §7.6: fields that are for one connection go no further: Connection and those that it
// names, and some that have always been. Any fiber; nothing here waits.
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

// The names that a Connection field lists, besides its own words.
class ConnectionOptions {
public:
    static constexpr std::size_t kNamesMax = 16;

    // Misuse when there are more.
    static Result<ConnectionOptions> of(const Headers& headers);
    bool name(std::string_view field) const;

private:
    std::vector<std::string_view> names_;  // mostly none
};

// Of a request or a response: the field ends here.
bool is_hop_by_hop(std::string_view name);

// Whether the upstream may be asked to change protocols. Not to h2c: what went through the tunnel
// then would be requests that nobody here has looked at.
bool passes_upgrade(const Request& request);

// How many times the request may be passed on, if it says so (RFC 9110 §7.6.2).
std::optional<std::uint64_t> forwards_left(const Request& request);

// The head of the request as the upstream gets it, behind what `output` holds. `body_size` is
// nothing for a body in chunks.
Result<void> append_request(std::string& output, const Request& request, std::string_view upstream,
                            const ProxyOptions& options, bool has_body,
                            std::optional<std::uint64_t> body_size);

// What we say in Via of a message that came in this version; nothing if we have no name.
struct Via {
    explicit Via(const std::string& name)
        : http10(name.empty() ? "" : "1.0 " + name), http11(name.empty() ? "" : "1.1 " + name) {}
    const std::string& of(wire::Version version) const {
        return version == wire::Version::Http11 ? http11 : http10;
    }

    const std::string http10;
    const std::string http11;
};

// The fields of a response for the client, and our Via. All are borrowed: the head and `via` must
// outlive them.
Result<Headers> fields_for_client(const wire::ResponseHead& head, const Via& via);

}  // namespace weft::http
