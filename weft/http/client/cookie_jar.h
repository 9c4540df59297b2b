// CookieJar: keeps the cookies that servers set (RFC 6265bis), and sends them back.
//
//     http::Client client({.cookies = std::make_shared<http::CookieJar>()});
//
// A client without a jar neither keeps nor sends cookies; several clients may share one. A request
// that sets Cookie itself sends that field instead.
//
// A cookie is sent to the host that set it or, if it has a Domain, to that domain and all below it.
// A domain of one label ("com") is never accepted, nor is one for which `is_public_suffix` returns
// true ("co.uk"): without that function, a site below co.uk could set cookies for all of co.uk.
// Secure cookies are set and sent over https only, and http cannot overwrite them. The name
// prefixes __Secure- and __Host- are enforced. SameSite is ignored, because a client has no page
// from which a request could come. Session cookies last as long as the jar, others for at most
// 400 days.
//
// Memory is bounded: beyond a limit expired cookies are removed first, then the least recently used
// one. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/spin_lock.h"
#include "weft/http/wire/target.h"

namespace weft::http {

struct CookieJarOptions {
    std::size_t cookies_per_domain = 50;
    std::size_t cookies = 3000;
    std::size_t field_bytes = 8000;  // of a Cookie field; what does not fit is left out
    // Whether unrelated owners register names directly below this domain, given in lower case, as
    // the Public Suffix List says. Empty: only domains of one label are treated so.
    std::function<bool(std::string_view domain)> is_public_suffix = {};
};

class CookieJar {
public:
    explicit CookieJar(CookieJarOptions options = {});

    // Takes the value of a Set-Cookie field of a response from this URL. False: it is ignored.
    bool keep(const wire::Url& url, std::string_view set_cookie);
    // The value of the Cookie field for a request to this URL, longer paths first; empty: none.
    std::string cookies_for(const wire::Url& url);

    std::size_t size() const;
    void clear();

private:
    struct Cookie {
        std::string name;
        std::string value;
        std::string path;
        bool host_only = false;
        bool secure = false;
        std::optional<std::int64_t> expires;  // in seconds since 1970; nothing: a session cookie
        std::uint64_t created = 0;            // values of count_, which order creation and use
        std::uint64_t used = 0;

        bool has_expired(std::int64_t now) const { return expires && *expires <= now; }
    };
    using Cookies = std::vector<Cookie>;

    void insert(const std::string& domain, Cookie cookie, std::int64_t now);
    bool would_replace_secure(const wire::Url& url, std::string_view domain,
                              const Cookie& cookie) const;
    void evict_from(Cookies& cookies);
    void evict_one();
    void drop_expired(std::int64_t now);

    const CookieJarOptions options_;
    mutable SpinLock lock_;                                  // guards all members below
    std::map<std::string, Cookies, std::less<>> by_domain_;  // no entry is empty
    std::size_t size_ = 0;                                   // cookies in all entries
    std::uint64_t count_ = 0;                                // grows with each creation and use
};

}  // namespace weft::http
