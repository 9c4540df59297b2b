// Url: a URL record of the URL standard (https://url.spec.whatwg.org/#urls), with its parser, its
// serializer and the setters of its parts.
//
//     auto url = Url::parse("../x?q=1", &base);
//     if (!url) return;  // "failure"
//     std::string text = url->href();
//
// Texts are UTF-8. The class does not depend on JavaScript; url_natives.cpp connects the two. A
// value. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::api {

// Where the parts of a serialized URL lie, as offsets into it:
//
//     https://user:pass@example.com:1234/foo/bar?baz#quux
//           |    |    |           |    |        |   |
//           |    |    |           |    |        |   hash
//           |    |    |           |    |        search
//           |    |    |           |    pathname
//           |    |    |           host_end
//           |    |    host_start (at the @, or equal to username_end where there is none)
//           |    username_end
//           protocol_end
struct UrlOffsets {
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    std::uint32_t protocol_end = 0;
    std::uint32_t username_end = 0;
    std::uint32_t host_start = 0;
    std::uint32_t host_end = 0;
    std::uint32_t port = kNone;  // the number itself
    std::uint32_t pathname = 0;
    std::uint32_t search = kNone;
    std::uint32_t hash = kNone;
};

class Url {
public:
    // The basic URL parser without a state override; gives nothing where the standard returns
    // failure.
    static std::optional<Url> parse(std::string_view input, const Url* base = nullptr);

    // The URL serializer, which also gives the offsets of the parts.
    std::string href() const;
    std::string href(UrlOffsets& offsets) const;
    // "The serialization of an origin": "null" for all but the schemes that have one.
    std::string origin() const;

    // ---- parts
    const std::string& scheme() const { return scheme_; }
    const std::string& username() const { return username_; }
    const std::string& password() const { return password_; }
    const std::optional<std::string>& host() const { return host_; }
    std::optional<std::uint16_t> port() const { return port_; }
    // Serialized: the segments, each after its "/", or an opaque path unchanged.
    const std::string& path() const { return path_; }
    const std::optional<std::string>& query() const { return query_; }
    const std::optional<std::string>& fragment() const { return fragment_; }
    bool has_opaque_path() const { return opaque_path_; }
    bool is_special() const { return special_; }

    // ---- the setters of the class URL: a value that cannot be used changes nothing
    void set_protocol(std::string_view value);
    void set_username(std::string_view value);
    void set_password(std::string_view value);
    void set_host(std::string_view value);
    void set_hostname(std::string_view value);
    void set_port(std::string_view value);
    void set_pathname(std::string_view value);
    void set_search(std::string_view value);
    void set_hash(std::string_view value);

private:
    friend class UrlParser;

    bool includes_credentials() const { return !username_.empty() || !password_.empty(); }
    bool cannot_have_credentials_or_port() const {
        return !host_ || host_->empty() || scheme_ == "file";
    }
    void set_scheme(std::string_view scheme);
    void shorten_path();

    std::string scheme_;
    std::string username_;
    std::string password_;
    std::optional<std::string> host_;
    std::string path_;
    std::optional<std::string> query_;
    std::optional<std::string> fragment_;
    std::optional<std::uint16_t> port_;
    bool opaque_path_ = false;
    bool special_ = false;
};

// Returns true only if `text` is an http or https URL in serialized form, and gives the offsets of
// its parts. It examines each character once, which is cheaper than the parser; most URLs that a
// server sees are of this kind.
bool is_serialized(std::string_view text, UrlOffsets& offsets);

// The default port of a special scheme: 0 for "file", nothing for a scheme that is not special.
std::optional<std::uint16_t> special_port(std::string_view scheme);

}  // namespace weft::api
