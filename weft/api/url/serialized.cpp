// is_serialized() of url.h.
#include "weft/api/url/ip.h"
#include "weft/api/url/percent.h"
#include "weft/api/url/url.h"

namespace weft::api {

namespace {

constexpr bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// Whether the host is an IPv4 address in serialized form.
bool is_serialized_ipv4(std::string_view host) {
    std::size_t at = 0;
    for (int part = 0; part < 4; ++part) {
        if (part > 0 && (at == host.size() || host[at++] != '.')) return false;
        std::size_t first = at;
        unsigned number = 0;
        while (at < host.size() && at - first < 3 && host[at] >= '0' && host[at] <= '9')
            number = number * 10 + static_cast<unsigned>(host[at++] - '0');
        bool has_leading_zero = at - first > 1 && host[first] == '0';
        if (at == first || has_leading_zero || number > 255) return false;
    }
    return at == host.size();
}

// Reads a port in serialized form; returns 0 if the serializer would not write it.
std::uint32_t read_port(std::string_view text, std::size_t& at) {
    std::uint32_t port = 0;
    std::size_t first = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        port = port * 10 + static_cast<std::uint32_t>(text[at] - '0');
        if (at - first >= 5) return 0;
    }
    return text[first] == '0' || port > 65535 ? 0 : port;
}

// The end of the path, or npos if a dot segment or a character may have to be changed.
std::size_t path_end(std::string_view text, std::size_t at) {
    for (char before = 0; at < text.size(); ++at) {
        char c = text[at];
        if (c == '?' || c == '#') break;
        if (c == '\\' || kPathSet.has(static_cast<unsigned char>(c))) return std::string_view::npos;
        if (before == '/' && (c == '.' || c == '%')) return std::string_view::npos;
        before = c;
    }
    return at;
}

// The end of a part without characters of `set`, before `stop`; npos if it contains such a
// character.
std::size_t part_end(std::string_view text, std::size_t at, const PercentEncodeSet& set,
                     char stop) {
    for (; at < text.size() && text[at] != stop; ++at)
        if (set.has(static_cast<unsigned char>(text[at]))) return std::string_view::npos;
    return at;
}

}  // namespace

bool is_serialized(std::string_view text, UrlOffsets& offsets) {
    bool secure = text.starts_with("https://");
    if (!secure && !text.starts_with("http://")) return false;
    std::size_t host = secure ? 8 : 7;
    std::size_t at = host;
    while (at < text.size() && is_host_character(text[at])) ++at;
    std::string_view name = text.substr(host, at - host);
    if (name.empty() || (ends_in_a_number(name) && !is_serialized_ipv4(name))) return false;
    auto offset = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
    offsets = UrlOffsets{.protocol_end = offset(host - 2),
                         .username_end = offset(host),
                         .host_start = offset(host),
                         .host_end = offset(at)};
    if (at + 1 < text.size() && text[at] == ':') {
        offsets.port = read_port(text, ++at);
        if (offsets.port == 0 || offsets.port == (secure ? 443u : 80u)) return false;
    }
    if (at >= text.size() || text[at] != '/') return false;
    offsets.pathname = offset(at);
    at = path_end(text, at);
    if (at < text.size() && text[at] == '?') {
        offsets.search = offset(at);
        at = part_end(text, at + 1, kSpecialQuerySet, '#');
    }
    if (at < text.size() && text[at] == '#') {
        offsets.hash = offset(at);
        at = part_end(text, at + 1, kFragmentSet, '\0');
    }
    return at == text.size();
}

}  // namespace weft::api
