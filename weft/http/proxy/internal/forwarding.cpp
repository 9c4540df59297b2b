#include "weft/http/proxy/internal/forwarding.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/http/wire/format.h"

namespace weft::http {
namespace {

// A set of field names. Most fields are not in it, which their length alone nearly always tells.
template <std::size_t kCount>
class Names {
public:
    consteval explicit Names(std::array<std::string_view, kCount> names) : names_(names) {
        for (std::string_view name : names_) lengths_ |= std::uint64_t{1} << name.size();
    }
    bool has(std::string_view name) const {
        if (name.size() >= 64 || !(lengths_ >> name.size() & 1)) return false;
        return std::ranges::any_of(
            names_, [&](std::string_view listed) { return equal_without_case(listed, name); });
    }

private:
    std::array<std::string_view, kCount> names_;
    std::uint64_t lengths_ = 0;
};

constexpr Names kHopByHop(std::to_array<std::string_view>(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
     "te", "trailer", "transfer-encoding", "upgrade"}));

// Fields of a request that the proxy writes itself: the host, the length, Expect, and the fields
// about earlier hops.
constexpr Names kReplaced(std::to_array<std::string_view>({"host", "content-length", "expect",
                                                           "x-forwarded-for", "x-forwarded-host",
                                                           "x-forwarded-proto", "forwarded"}));
constexpr std::string_view kMaxForwards = "max-forwards";

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Appends the request line, with the target in origin form (RFC 9112 §3.2.1).
void append_target_line(std::string& output, const Request& request) {
    std::string_view target = request.target();
    if (target.starts_with('/') || target == "*")
        return wire::append_request_line(output, request.method(), target);
    // The target is absolute: keep what follows the authority.
    std::size_t authority = target.find("//") + 2;
    std::size_t path = target.find_first_of("/?", authority);
    // RFC 9112 §3.2.4: without a path, OPTIONS asks for the server itself.
    std::string_view nothing = request.method() == "OPTIONS" ? "*" : "/";
    std::string rest(path == std::string_view::npos ? nothing : target.substr(path));
    if (rest.starts_with('?')) rest.insert(0, "/");
    wire::append_request_line(output, request.method(), rest);
}

std::string node_of(const net::Address& peer) {
    if (peer.kind() == net::Address::Kind::Unix) return "unknown";
    net::IpAddress ip = peer.ip().unmapped();
    return ip.is_v4() ? ip.to_string() : format("\"[{}]\"", ip.to_string());
}

void append_extended(std::string& output, std::string_view name, const Request& request,
                     const ProxyOptions& options, std::string_view value) {
    if (options.earlier_hops == EarlierHops::Replace)
        return wire::append_field(output, name, value);
    std::string all;
    for (const Headers::Field& field : request.headers()) {
        if (equal_without_case(field.name, name)) all.append(field.value).append(", ");
    }
    wire::append_field(output, name, all.append(value));
}

void append_hops(std::string& output, const Request& request, const ProxyOptions& options) {
    bool keeps = options.earlier_hops == EarlierHops::Extend;
    std::string_view proto = request.tls() ? "https" : "http";
    std::string_view host = request.host();
    if (options.x_forwarded) {
        if (request.peer().kind() == net::Address::Kind::Ip) {
            append_extended(output, "X-Forwarded-For", request, options,
                            request.peer().ip().unmapped().to_string());
        }
        auto said_proto = request.header("x-forwarded-proto");
        auto said_host = request.header("x-forwarded-host");
        wire::append_field(output, "X-Forwarded-Proto", keeps && said_proto ? *said_proto : proto);
        std::string_view forwarded_host = keeps && said_host ? *said_host : host;
        // A request in HTTP/1.0 may have no Host; an empty field would claim that it was empty.
        if (!forwarded_host.empty()) wire::append_field(output, "X-Forwarded-Host", forwarded_host);
    }
    if (options.forwarded) {
        std::string hop = format("for={};proto={}", node_of(request.peer()), proto);
        if (!host.empty()) hop += format(";host=\"{}\"", host);
        append_extended(output, "Forwarded", request, options, hop);
    }
    if (!options.via.empty()) {
        std::string_view version = request.version() == wire::Version::Http11 ? "1.1 " : "1.0 ";
        wire::append_field(output, "Via", std::string(version) + options.via);
    }
}

}  // namespace

Result<ConnectionOptions> ConnectionOptions::of(const Headers& headers) {
    ConnectionOptions options;
    for (const Headers::Field& field : headers) {
        if (field.name.size() != 10 || !equal_without_case(field.name, "connection")) continue;
        std::string_view rest = field.value;
        while (!rest.empty()) {
            std::size_t comma = std::min(rest.find(','), rest.size());
            std::string_view token = trimmed(rest.substr(0, comma));
            rest.remove_prefix(std::min(comma + 1, rest.size()));
            if (token.empty() || equal_without_case(token, "close") ||
                equal_without_case(token, "keep-alive") || equal_without_case(token, "upgrade"))
                continue;
            if (options.names_.size() == kNamesMax)
                return Error(ErrorKind::Misuse, "a Connection field with too many names");
            options.names_.push_back(token);
        }
    }
    WEFT_ASSERT(options.names_.size() <= kNamesMax);
    return options;
}

bool ConnectionOptions::name(std::string_view field) const {
    return std::ranges::any_of(
        names_, [&](std::string_view listed) { return equal_without_case(listed, field); });
}

bool is_hop_by_hop(std::string_view name) { return kHopByHop.has(name); }

bool passes_upgrade(const Request& request) {
    return request.upgrades() && !request.headers().has_token("upgrade", "h2c");
}

std::optional<std::uint64_t> forwards_left(const Request& request) {
    if (request.method() != "OPTIONS" && request.method() != "TRACE") return std::nullopt;
    auto field = request.header(kMaxForwards);
    if (!field) return std::nullopt;
    std::uint64_t count = 0;
    const char* end = field->data() + field->size();
    auto read = std::from_chars(field->data(), end, count);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return count;
}

Result<void> append_request(std::string& output, const Request& request, std::string_view upstream,
                            const ProxyOptions& options, bool has_body,
                            std::optional<std::uint64_t> body_size) {
    WEFT_ASSERT(has_body || body_size.value_or(0) == 0, "Content-Length would announce a body");
    ConnectionOptions listed = WEFT_TRY(ConnectionOptions::of(request.headers()));
    append_target_line(output, request);
    // A request in HTTP/1.0 may have no Host, but ours needs one, and some servers refuse an empty
    // one.
    bool keep = options.host == HostField::Keep && !request.host().empty();
    wire::append_field(output, "Host", keep ? request.host() : upstream);
    std::optional<std::uint64_t> forwards = forwards_left(request);
    WEFT_ASSERT(!forwards || *forwards > 0, "the proxy itself answers such a request");
    if (forwards) wire::append_field(output, "Max-Forwards", *forwards - 1);
    for (const Headers::Field& field : request.headers()) {
        if (is_hop_by_hop(field.name) || kReplaced.has(field.name)) continue;
        if (listed.name(field.name)) continue;
        if (forwards && equal_without_case(field.name, kMaxForwards)) continue;
        if (options.underscore_names == UnderscoreNames::Drop &&
            field.name.find('_') != std::string_view::npos)
            continue;
        wire::append_field(output, field.name, field.value);
    }
    append_hops(output, request, options);
    bool takes_trailers = request.headers().has_token("te", "trailers");
    if (takes_trailers) wire::append_field(output, "TE", "trailers");
    if (passes_upgrade(request)) {
        for (const Headers::Field& field : request.headers()) {
            if (equal_without_case(field.name, "upgrade"))
                wire::append_field(output, field.name, field.value);
        }
        wire::append_field(output, "Connection", takes_trailers ? "upgrade, TE" : "upgrade");
    } else if (takes_trailers) {
        wire::append_field(output, "Connection", "TE");
    }
    if (has_body && !body_size) {
        wire::append_field(output, "Transfer-Encoding", "chunked");
    } else if (has_body || request.header("content-length")) {
        wire::append_field(output, "Content-Length", body_size.value_or(0));
    }
    // RFC 9110 §10.1.1: the upstream says whether the body is wanted.
    if (request.expects_continue()) wire::append_field(output, "Expect", "100-continue");
    output.append(wire::kHeadEnd);
    return {};
}

Result<Headers> fields_for_client(const wire::ResponseHead& head, const Via& via) {
    ConnectionOptions listed = WEFT_TRY(ConnectionOptions::of(head.headers));
    Headers fields;
    fields.reserve(head.headers.size() + 1);
    for (const Headers::Field& field : head.headers) {
        bool upgrade = head.status == 101 && equal_without_case(field.name, "upgrade");
        if (!upgrade && (is_hop_by_hop(field.name) || listed.name(field.name))) continue;
        if (field.name.size() == 14 && equal_without_case(field.name, "content-length")) continue;
        fields.add_borrowed(field.name, field.value);
    }
    if (const std::string& ours = via.of(head.version); !ours.empty())
        fields.add_borrowed("Via", ours);
    return fields;
}

}  // namespace weft::http
