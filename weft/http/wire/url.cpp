// The URLs of clients: class Url of target.h.
#include <algorithm>

#include "weft/base/assert.h"
#include "weft/http/headers.h"
#include "weft/http/wire/characters.h"
#include "weft/http/wire/target.h"

namespace weft::http::wire {
namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), to_lower);
    return result;
}

// The text before ':' if it is a scheme, else empty (RFC 3986 §4.1).
std::string_view scheme_of(std::string_view text) {
    if (text.empty() || !is_alpha(text[0])) return {};
    std::size_t colon = text.find_first_of(":/?#");
    if (colon == text.npos || text[colon] != ':') return {};
    std::string_view scheme = text.substr(0, colon);
    return consists_of(Class::Scheme, scheme) ? scheme : std::string_view();
}

// RFC 3986 §5.2.4. The path begins with '/'.
std::string remove_dot_segments(std::string_view path) {
    WEFT_DASSERT(path.empty() || path.front() == '/');
    std::string result;
    result.reserve(path.size());
    while (!path.empty()) {
        std::size_t end = std::min(path.find('/', 1), path.size());
        std::string_view segment = path.substr(1, end - 1);
        path.remove_prefix(end);
        if (segment == "..") {
            if (!result.empty()) result.resize(result.rfind('/'));
        } else if (segment != ".") {
            result.append("/").append(segment);
            continue;
        }
        if (path.empty()) result.push_back('/');
    }
    return result;
}

// As browsers do (https://url.spec.whatwg.org): blanks around the text and ends of lines in it are
// removed, and characters that a URL cannot have are escaped.
std::string with_escapes(std::string_view reference) {
    reference = trim_blanks(reference);
    std::string escaped;
    escaped.reserve(reference.size());
    for (char c : reference) {
        if (c == '\t' || c == '\r' || c == '\n') continue;
        if (is(Class::Target, c)) {
            escaped.push_back(c);
        } else {
            escaped.append(percent_encode({&c, 1}));
        }
    }
    return escaped;
}

Error malformed(std::string_view text, std::string_view why) {
    constexpr std::size_t kShownBytesMax = 200;
    return Error(ErrorKind::Misuse, why).with_context(text.substr(0, kShownBytesMax), "is no URL");
}

}  // namespace

std::uint16_t default_port(std::string_view scheme) {
    if (equal_without_case(scheme, "http") || equal_without_case(scheme, "ws")) return 80;
    if (equal_without_case(scheme, "https") || equal_without_case(scheme, "wss")) return 443;
    return 0;
}

Result<Url> Url::parse(std::string_view given) {
    std::string_view text = given.substr(0, given.find('#'));
    const char* end = text.data() + text.size();
    if (skip_target(text.data(), end) != end) {
        return malformed(given, "it has a character that must be escaped");
    }
    Url url;
    std::string_view scheme = scheme_of(text);
    url.scheme_ = lower(scheme);
    url.port_ = default_port(url.scheme_);
    if (url.port_ == 0)
        return malformed(given, "it does not begin with http:, https:, ws: or wss:");
    text.remove_prefix(scheme.size());
    if (!text.starts_with("://")) return malformed(given, "it has no host");
    text.remove_prefix(3);
    std::size_t authority_end = std::min(text.find_first_of("/?"), text.size());
    std::optional<HostPort> authority = parse_host_port(text.substr(0, authority_end));
    if (!authority) return malformed(given, "its host is none (user information is not taken)");
    url.host_ = lower(authority->host);
    url.port_ = authority->port.value_or(url.port_);
    if (url.port_ == 0) return malformed(given, "its port is 0");
    text.remove_prefix(authority_end);
    url.target_ = text.starts_with('/') ? std::string(text) : "/" + std::string(text);
    WEFT_DASSERT(url.port_ != 0 && !url.host_.empty());
    return url;
}

Result<Url> Url::resolve(std::string_view given) const {
    std::string escaped = with_escapes(given.substr(0, given.find('#')));
    std::string_view reference = escaped;
    // RFC 3986 §5.2.2, step by step; a reference with a host is a URL that parse() can read.
    Url url = *this;
    std::size_t base_question = std::min(target_.find('?'), target_.size());
    std::string_view base_path = std::string_view(target_).substr(0, base_question);
    std::size_t question = std::min(reference.find('?'), reference.size());
    std::string_view path = reference.substr(0, question);
    std::string_view query = reference.substr(question);
    if (!scheme_of(reference).empty() || reference.starts_with("//")) {
        bool has_scheme = !reference.starts_with("//");
        std::string whole(reference);
        url = WEFT_TRY(parse(has_scheme ? whole : scheme_ + ":" + whole));
        question = std::min(url.target_.find('?'), url.target_.size());
        url.target_ = remove_dot_segments(std::string_view(url.target_).substr(0, question)) +
                      url.target_.substr(question);
        return url;
    }
    if (path.empty()) {
        // "": this very URL; "?y": another query of it.
        if (!query.empty()) url.target_ = std::string(base_path).append(query);
        return url;
    }
    std::string merged;
    if (!path.starts_with('/')) merged = base_path.substr(0, base_path.rfind('/') + 1);
    url.target_ = remove_dot_segments(merged.append(path)).append(query);
    WEFT_DASSERT(url.target_.starts_with('/'));
    return url;
}

std::string Url::authority() const {
    bool is_ipv6 = host_.find(':') != host_.npos;
    std::string result = is_ipv6 ? "[" + host_ + "]" : host_;
    if (port_ != default_port(scheme_)) result += ":" + std::to_string(port_);
    return result;
}

std::string Url::without_query() const {
    return scheme_ + "://" + authority() + target_.substr(0, target_.find('?'));
}

std::string Url::to_string() const { return scheme_ + "://" + authority() + target_; }

}  // namespace weft::http::wire
