// What a request asks for: the four forms of a target (RFC 9112 §3.2), paths, queries and URLs.
//
// Views into what was parsed; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/result.h"

namespace weft::http::wire {

struct Target {
    enum class Form : std::uint8_t { Origin, Absolute, Authority, Asterisk };
    Form form = Form::Origin;
    std::string_view scheme;     // Absolute
    std::string_view authority;  // Absolute, Authority; without user information
    std::string_view path;       // as sent; "/" for an absolute target without one
    std::string_view query;      // without '?'
    bool has_query = false;
};
// Whether a path or query may have UTF-8 that is not escaped.
enum class Utf8Targets : bool { Refuse, Allow };

// Nothing if the text is not a target: characters that a target cannot have, a fragment, user
// information, an authority that is no host[:port]. CONNECT has the authority form, and no other
// method does. `reason` is then set, for people.
std::optional<Target> parse_target(std::string_view method, std::string_view target,
                                   Utf8Targets utf8 = Utf8Targets::Refuse,
                                   const char** reason = nullptr);

enum class Transport : std::uint8_t { Plain, Secured };
// RFC 9110 §7.4: whether the scheme of the target must not be served here. A resource of https MUST
// NOT be sent over a connection that is not secured.
bool is_misdirected(const Target& target, Transport transport);

struct HostPort {
    std::string_view host;  // an IPv6 address without its brackets
    std::optional<std::uint16_t> port;
    bool is_ipv6 = false;
};
// RFC 3986 host [":" port]; nothing for anything else, user information included, and for what
// looks like an IPv4 address but is none of four decimal numbers.
std::optional<HostPort> parse_host_port(std::string_view text);

// Of http, https, ws and wss; 0 for other schemes.
std::uint16_t default_port(std::string_view scheme);

// An http, https, ws or wss URL of a client. It has no user information, and its fragment is not
// sent. A value that only parse() and resolve() make, so its parts can be sent as they are.
class Url {
public:
    static Result<Url> parse(std::string_view text);
    // Resolves the text of a Location field against this URL (RFC 3986 §5). Characters that should
    // have been escaped are escaped, as browsers do.
    Result<Url> resolve(std::string_view reference) const;
    Url(std::string_view text) = delete;  // a text is read by Url::parse(text)
    Url(const char* text) = delete;       // a text is read by Url::parse(text)

    const std::string& scheme() const { return scheme_; }  // in lower case
    // In lower case; an IPv6 address without its brackets.
    const std::string& host() const { return host_; }
    std::uint16_t port() const { return port_; }           // never 0
    const std::string& target() const { return target_; }  // path and query, as they are sent

    bool is_secure() const { return scheme_ == "https" || scheme_ == "wss"; }
    std::string authority() const;  // host[:port], without the scheme's own port, with brackets
    std::string to_string() const;
    // For logs and messages: the query often has secrets.
    std::string without_query() const;

    friend bool operator==(const Url&, const Url&) = default;

private:
    Url() = default;

    std::string scheme_;
    std::string host_;
    std::uint16_t port_ = 0;
    std::string target_ = "/";
};

// "%41" to "A". Nothing for a broken escape or a NUL, encoded or not.
std::optional<std::string> percent_decode(std::string_view text);
// Everything but unreserved characters (and, of a path, '/') is escaped.
enum class Slashes : bool { Escape, Keep };
std::string percent_encode(std::string_view text, Slashes slashes = Slashes::Escape);
// A path decoded once and with "." and ".." resolved; nothing if it leaves the root or is broken.
std::optional<std::string> normalize_path(std::string_view path);
// application/x-www-form-urlencoded: '+' is a blank; broken escapes stay as they are.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

}  // namespace weft::http::wire
