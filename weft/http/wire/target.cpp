#include "weft/http/wire/target.h"

#include <algorithm>

#include "weft/base/assert.h"
#include "weft/http/headers.h"
#include "weft/http/wire/characters.h"
#include "weft/http/wire/utf8.h"

namespace weft::http::wire {
namespace {

bool is_ipv4(std::string_view text) {
    for (int part = 0; part < 4; ++part) {
        std::size_t size = 0;
        unsigned value = 0;
        while (size < text.size() && size < 3 && is_digit(text[size])) {
            value = value * 10 + static_cast<unsigned>(text[size++] - '0');
        }
        if (size == 0 || value > 255 || (size > 1 && text[0] == '0')) return false;
        text.remove_prefix(size);
        if (part == 3) return text.empty();
        if (!text.starts_with('.')) return false;
        text.remove_prefix(1);
    }
    return false;
}

// Counts groups of sixteen bits that are separated by colons; the last two may be an IPv4 address.
// -1 for anything else.
int count_groups(std::string_view text) {
    if (text.empty()) return 0;
    for (int groups = 1;; ++groups) {
        std::size_t size = 0;
        while (size < text.size() && hex_value(text[size]) >= 0) ++size;
        if (size == text.size() && size >= 1 && size <= 4) return groups;
        if (is_ipv4(text)) return groups + 1;
        if (size == 0 || size > 4 || text[size] != ':') return -1;
        text.remove_prefix(size + 1);
    }
}

// RFC 3986 §3.2.2 IPv6address, without a zone.
bool is_ipv6(std::string_view text) {
    std::size_t gap = text.find("::");
    if (gap == text.npos) return count_groups(text) == 8;
    std::string_view left = text.substr(0, gap);
    if (left.find('.') != left.npos) return false;
    int before = count_groups(left);
    int behind = count_groups(text.substr(gap + 2));
    return before >= 0 && behind >= 0 && before + behind <= 7;
}

// https://url.spec.whatwg.org/#ends-in-a-number-checker: whether URLs have it as an IPv4 address.
bool ends_in_number(std::string_view host) {
    if (host.ends_with('.')) host.remove_suffix(1);
    std::string_view label = host.substr(host.rfind('.') + 1);
    if (std::ranges::all_of(label, is_digit)) return !label.empty();
    if (!label.starts_with("0x") && !label.starts_with("0X")) return false;
    return std::ranges::all_of(label.substr(2), [](char c) { return hex_value(c) >= 0; });
}

bool has_sound_escapes(std::string_view text) {
    for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 3)) {
        if (text.size() - at < 3 || hex_value(text[at + 1]) < 0 || hex_value(text[at + 2]) < 0) {
            return false;
        }
    }
    return true;
}

// Sets path and query, or gives what is wrong. A query may have all characters of targets, because
// browsers send it so. A path is stricter: files and routes are found by it, so it must have one
// meaning only.
const char* split_path(std::string_view text, Target& target) {
    std::size_t question = text.find('?');
    target.has_query = question != text.npos;
    target.path = text.substr(0, question);
    if (target.has_query) target.query = text.substr(question + 1);
    if (target.path.find('\\') != target.path.npos) return "a backslash in the path";
    return has_sound_escapes(target.path) ? nullptr : "a broken escape in the path";
}

const char* parse_absolute(std::string_view text, Target& target) {
    constexpr const char* kNoScheme = "a target that begins with neither / nor a scheme";
    std::size_t colon = text.find("://");
    if (colon == text.npos || colon == 0 || !is_alpha(text[0])) return kNoScheme;
    target.form = Target::Form::Absolute;
    target.scheme = text.substr(0, colon);
    if (!consists_of(Class::Scheme, target.scheme)) return kNoScheme;
    text.remove_prefix(colon + 3);
    std::size_t end = std::min(text.find_first_of("/?"), text.size());
    target.authority = text.substr(0, end);
    if (!parse_host_port(target.authority)) return "a target whose host is no host[:port]";
    if (const char* wrong = split_path(text.substr(end), target)) return wrong;
    if (target.path.empty()) target.path = "/";
    return nullptr;
}

// Sets the target, or gives what is wrong.
const char* parse_any(std::string_view method, std::string_view text, Target& target) {
    if (method == "CONNECT") {
        std::optional<HostPort> authority = parse_host_port(text);
        // RFC 9110 §9.3.6: an empty or invalid port MUST be rejected.
        if (!authority || authority->port.value_or(0) == 0)
            return "a CONNECT whose target is no host:port";
        target.form = Target::Form::Authority;
        target.authority = text;
        return nullptr;
    }
    if (text[0] == '/') return split_path(text, target);
    if (text != "*") return parse_absolute(text, target);
    if (method != "OPTIONS") return "the target * with a method other than OPTIONS";
    target.form = Target::Form::Asterisk;
    target.path = text;
    return nullptr;
}

bool has_targets_characters(std::string_view text, Utf8Targets utf8) {
    const char* end = text.data() + text.size();
    const char* stop = skip_target(text.data(), end);
    if (utf8 == Utf8Targets::Refuse) return stop == end;
    while (stop != end && static_cast<unsigned char>(*stop) >= 0x80)
        stop = skip_target(stop + 1, end);
    return stop == end;
}

}  // namespace

std::optional<Target> parse_target(std::string_view method, std::string_view text, Utf8Targets utf8,
                                   const char** reason) {
    Target target;
    const char* wrong = nullptr;
    if (text.empty()) {
        wrong = "an empty target";
    } else if (!has_targets_characters(text, utf8)) {
        wrong = "a character in the target that must be escaped";
    } else if (utf8 == Utf8Targets::Allow && !is_utf8(text)) {
        wrong = "a target that is not UTF-8";
    } else {
        wrong = parse_any(method, text, target);
    }
    if (!wrong) return target;
    if (reason) *reason = wrong;
    return std::nullopt;
}

bool is_misdirected(const Target& target, Transport transport) {
    if (target.form != Target::Form::Absolute) return false;
    if (equal_without_case(target.scheme, "http")) return false;
    return transport == Transport::Plain || !equal_without_case(target.scheme, "https");
}

std::optional<HostPort> parse_host_port(std::string_view text) {
    HostPort result;
    std::string_view rest;
    if (text.starts_with('[')) {
        std::size_t bracket = text.find(']');
        if (bracket == text.npos) return std::nullopt;
        result.host = text.substr(1, bracket - 1);
        result.is_ipv6 = true;
        if (!is_ipv6(result.host)) return std::nullopt;
        rest = text.substr(bracket + 1);
    } else {
        // NB: RFC 3986 also has escapes in names. Whether "a%2eb" is "a.b" is read in two ways.
        const char* end = text.data() + text.size();
        const char* stop = skip(Class::RegName, text.data(), end);
        result.host = {text.data(), stop};
        rest = {stop, end};
        if (result.host.empty()) return std::nullopt;
        // NB: "127.1" and "0x7f.1" are names here and 127.0.0.1 in URLs; "1.2.3.256" is a name here
        // and nothing in URLs. Both are read in two ways.
        if (ends_in_number(result.host) && !is_ipv4(result.host)) return std::nullopt;
    }
    if (rest.empty()) return result;
    if (rest[0] != ':') return std::nullopt;
    rest.remove_prefix(1);
    unsigned port = 0;
    for (char c : rest) {
        if (!is_digit(c)) return std::nullopt;
        port = port * 10 + static_cast<unsigned>(c - '0');
        if (port > 65535) return std::nullopt;
    }
    if (!rest.empty()) result.port = static_cast<std::uint16_t>(port);
    return result;
}

std::optional<std::string> percent_decode(std::string_view text) {
    if (!has_sound_escapes(text) || text.find('\0') != text.npos) return std::nullopt;
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            result.push_back(text[at]);
            continue;
        }
        WEFT_DASSERT(text.size() - at >= 3, "escapes are sound");
        int value = hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]);
        if (value == 0) return std::nullopt;
        result.push_back(static_cast<char>(value));
        at += 2;
    }
    return result;
}

std::string percent_encode(std::string_view text, Slashes slashes) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string result;
    result.reserve(text.size());
    for (char c : text) {
        if (is(Class::Unreserved, c) || (c == '/' && slashes == Slashes::Keep)) {
            result.push_back(c);
            continue;
        }
        auto byte = static_cast<unsigned char>(c);
        result.push_back('%');
        result.push_back(kDigits[byte >> 4]);
        result.push_back(kDigits[byte & 15]);
    }
    return result;
}

std::optional<std::string> normalize_path(std::string_view path) {
    std::optional<std::string> decoded = percent_decode(path);
    if (!decoded || !decoded->starts_with('/')) return std::nullopt;
    if (decoded->find("/.") == decoded->npos) return decoded;
    std::string_view rest = *decoded;
    std::string result;
    result.reserve(rest.size());
    while (!rest.empty()) {
        std::size_t end = std::min(rest.find('/', 1), rest.size());
        std::string_view segment = rest.substr(1, end - 1);
        rest.remove_prefix(end);
        bool is_last = rest.empty();
        if (segment == "..") {
            if (result.empty()) return std::nullopt;
            WEFT_DASSERT(result.front() == '/');
            result.resize(result.rfind('/'));
        } else if (segment != ".") {
            result.append("/").append(segment);
            continue;
        }
        // "/a/." and "/a/b/.." are folders.
        if (is_last) result.push_back('/');
    }
    return result;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
    auto decode = [](std::string_view text) {
        std::string result;
        result.reserve(text.size());
        for (std::size_t at = 0; at < text.size(); ++at) {
            if (text[at] == '+') {
                result.push_back(' ');
            } else if (text[at] == '%' && text.size() - at > 2 && hex_value(text[at + 1]) >= 0 &&
                       hex_value(text[at + 2]) >= 0) {
                result.push_back(
                    static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2])));
                at += 2;
            } else {
                result.push_back(text[at]);
            }
        }
        return result;
    };
    std::vector<std::pair<std::string, std::string>> result;
    while (!query.empty()) {
        std::size_t end = std::min(query.find('&'), query.size());
        std::string_view pair = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (pair.empty()) continue;
        std::size_t equals = std::min(pair.find('='), pair.size());
        std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
        result.emplace_back(decode(pair.substr(0, equals)), decode(value));
    }
    return result;
}

}  // namespace weft::http::wire
