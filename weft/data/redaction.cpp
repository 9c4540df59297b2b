#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/data/failure.h"

namespace weft::data {
namespace {

// What may be shown. A part is taken only if it consists of harmless characters.
struct Place {
    std::string scheme;
    std::string host;
    std::string port;
    std::string database;
};

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
    });
}
bool is_port(std::string_view text) {
    return !text.empty() && text.size() <= 5 &&
           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}
std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}
std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
    return text;
}

// scheme://[user[:password]@]host[:port][/database][?...]. A password that is not percent-encoded
// may contain any of the delimiters; a URL that could be split in two ways is not split at all.
std::optional<Place> read_url(std::string_view text) {
    std::size_t colon = text.find("://");
    WEFT_ASSERT(colon != std::string_view::npos, "read() has found the scheme");
    Place place;
    place.scheme = lower(text.substr(0, colon));
    constexpr std::string_view kSchemes[] = {"postgres", "postgresql", "sqlserver", "mssql",
                                             "mysql",    "mariadb",    "sqlite"};
    if (std::ranges::find(kSchemes, place.scheme) == std::end(kSchemes)) return std::nullopt;
    std::string_view rest = text.substr(colon + 3);
    if (std::ranges::count(rest, '@') > 1) return place;
    std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    std::size_t at = rest.find('@');
    if (at != std::string_view::npos && at >= authority.size()) return place;
    if (at == std::string_view::npos && authority.find('%') != std::string_view::npos) return place;
    std::string_view server = at == std::string_view::npos ? authority : authority.substr(at + 1);
    std::string_view host = server.substr(0, server.find(':'));
    std::string_view port;
    if (host.size() < server.size()) port = server.substr(host.size() + 1);
    // Without an "@", name:word may also be a user and a password.
    if (!is_name(host) || (!port.empty() && !is_port(port))) return place;
    bool has_word = host.size() < server.size();
    if (at == std::string_view::npos && has_word && place.scheme != "sqlite" && !is_port(port))
        return place;
    place.host = host;
    place.port = port;
    std::string_view path = rest.substr(authority.size());
    if (!path.starts_with('/')) return place;
    path = path.substr(1, path.find_first_of("?#") - 1);
    if (is_name(path)) place.database = path;
    return place;
}

void take(Place& place, std::string_view key, std::string_view value) {
    std::string name = lower(trimmed(key));
    if ((name == "host" || name == "server" || name == "hostaddr") && is_name(value))
        place.host = value;
    if (name == "port" && is_port(value)) place.port = value;
    if ((name == "dbname" || name == "database") && is_name(value)) place.database = value;
}

// Keyword strings of libpq: key = value pairs, values in single quotes with backslash escapes.
std::optional<Place> read_keywords(std::string_view text) {
    Place place{.scheme = "postgres", .host = {}, .port = {}, .database = {}};
    while (!(text = trimmed(text)).empty()) {
        std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        std::string_view key = trimmed(text.substr(0, equals));
        if (!is_name(key)) return std::nullopt;
        text = trimmed(text.substr(equals + 1));
        std::string value;
        if (text.starts_with('\'')) {
            std::size_t at = 1;
            for (; at < text.size() && text[at] != '\''; ++at) {
                if (text[at] == '\\') ++at;
                if (at < text.size()) value.push_back(text[at]);
            }
            if (at >= text.size()) return std::nullopt;
            text.remove_prefix(at + 1);
            if (!text.empty() && text.front() != ' ') return std::nullopt;
        } else {
            std::size_t end = std::min(text.find(' '), text.size());
            value = text.substr(0, end);
            text.remove_prefix(end);
        }
        take(place, key, value);
    }
    return place;
}

// Connection strings of ODBC: key=value; pairs, values in braces with a closing brace doubled.
std::optional<Place> read_odbc(std::string_view text) {
    Place place{.scheme = "odbc", .host = {}, .port = {}, .database = {}};
    while (!(text = trimmed(text)).empty()) {
        std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        std::string_view key = text.substr(0, equals);
        if (key.find_first_of(";{}") != std::string_view::npos) return std::nullopt;
        text.remove_prefix(equals + 1);
        std::size_t end = 0;
        if (text.starts_with('{')) {
            for (end = 1; end < text.size(); ++end) {
                if (text[end] != '}') continue;
                if (end + 1 < text.size() && text[end + 1] == '}') {
                    ++end;
                    continue;
                }
                break;
            }
            if (end >= text.size()) return std::nullopt;
            text.remove_prefix(end + 1);
            if (!text.empty() && text.front() != ';') return std::nullopt;
            if (!text.empty()) text.remove_prefix(1);
            continue;
        }
        end = std::min(text.find(';'), text.size());
        take(place, key, trimmed(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return place;
}

std::optional<Place> read(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) return std::nullopt;
    if (text.find("://") != std::string_view::npos) return read_url(text);
    if (text.find('=') == std::string_view::npos) return std::nullopt;
    // A keyword string may contain a semicolon only within quotes; an ODBC string has no quotes.
    bool is_odbc = text.find(';') != std::string_view::npos;
    if (is_odbc && text.find('\'') != std::string_view::npos) return std::nullopt;
    return is_odbc ? read_odbc(text) : read_keywords(text);
}

}  // namespace

std::string redacted(std::string_view connection_string) {
    std::optional<Place> place = read(connection_string);
    if (!place) return "(connection string not shown)";
    if (place->host.empty()) return place->scheme + " (connection string not shown)";
    // Nothing else may get into a log: a part of a password could be in it.
    WEFT_ASSERT(is_name(place->host), "only a harmless host is shown");
    WEFT_ASSERT(place->port.empty() || is_port(place->port), "only a number is shown as the port");
    WEFT_ASSERT(place->database.empty() || is_name(place->database),
                "only a harmless name is shown as the database");
    std::string text = place->scheme + "://" + place->host;
    if (!place->port.empty()) text.append(":").append(place->port);
    if (!place->database.empty()) text.append("/").append(place->database);
    return text;
}

}  // namespace weft::data
