// CookieJar: what servers ask a client to remember (RFC 6265bis), and gives back to them.
//
//     http::Client client({.cookies = std::make_shared<http::CookieJar>()});
//
// Off unless a client is given one; clients may share one. A request that sets Cookie itself sends
// that instead.
//
// A cookie goes to the host that set it, or with Domain to that domain and all below it; never to a
// domain of one label ("com"), nor, where `is_public_suffix` knows better, to one that many share
// ("co.uk"): without that function a site below co.uk could set cookies for all of co.uk. Secure
// ones are set and sent by https alone and are not overwritten by http, and the prefixes __Secure-
// and __Host- hold what they say. SameSite has no meaning here: there are no sites but the asked
// one. Session cookies last as long as the jar, others 400 days at most.
//
// Memory is bounded: beyond a limit what has expired goes first, then what was not used for the
// longest. Any thread.
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
    // Whether many who do not trust each other have names below this one, in lower case.
    std::function<bool(std::string_view domain)> is_public_suffix = {};
};

class CookieJar {
public:
    explicit CookieJar(CookieJarOptions options = {});

    // What a response from this URL says in a Set-Cookie field. False: it is ignored.
    bool keep(const wire::Url& url, std::string_view set_cookie);
    // The Cookie field of a request to this URL, longer paths first; empty: none.
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
        std::optional<std::int64_t> expires;  // in seconds since 1970; nothing: with the jar
        std::uint64_t created = 0;            // by a counter, as is the next
        std::uint64_t used = 0;

        bool has_expired(std::int64_t now) const { return expires && *expires <= now; }
    };
    using Cookies = std::vector<Cookie>;

    void insert(const std::string& domain, Cookie cookie, std::int64_t now);
    bool would_replace_secure(const wire::Url& url, std::string_view domain,
                              const Cookie& cookie) const;
    void forget_one_of(Cookies& cookies);
    void forget_one();
    void drop_expired(std::int64_t now);

    const CookieJarOptions options_;
    mutable SpinLock lock_;  // the rest
    std::map<std::string, Cookies, std::less<>> by_domain_;
    std::size_t size_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace weft::http
