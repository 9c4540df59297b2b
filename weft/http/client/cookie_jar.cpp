#include "weft/http/client/cookie_jar.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/http/headers.h"
#include "weft/http/wire/set_cookie.h"
#include "weft/net/address.h"

namespace weft::http {
namespace {

constexpr std::int64_t kAgeMax = 400LL * 24 * 60 * 60;  // RFC 6265bis §5.5

std::int64_t now_in_seconds() { return env::wall_ns() / 1'000'000'000; }

// RFC 6265bis §5.1.3; both in lower case.
bool domain_matches(std::string_view host, std::string_view domain) {
    if (host == domain) return true;
    return host.size() > domain.size() && host.ends_with(domain) &&
           host[host.size() - domain.size() - 1] == '.' && !net::IpAddress::parse(host);
}

std::string_view path_of(const wire::Url& url) {
    return std::string_view(url.target()).substr(0, url.target().find('?'));
}

// RFC 6265bis §5.1.4.
std::string_view default_path(const wire::Url& url) {
    std::string_view path = path_of(url);
    std::size_t slash = path.rfind('/');
    if (slash == path.npos || slash == 0) return "/";
    return path.substr(0, slash);
}
bool path_matches(std::string_view asked, std::string_view path) {
    if (!asked.starts_with(path)) return false;
    return asked.size() == path.size() || path.ends_with('/') || asked[path.size()] == '/';
}

bool begins_without_case(std::string_view text, std::string_view prefix) {
    return text.size() >= prefix.size() &&
           equal_without_case(text.substr(0, prefix.size()), prefix);
}

// RFC 6265bis §5.7: whether the cookie has the attributes that the prefix of its name requires.
bool honours_prefix(const wire::SetCookie& cookie, bool host_only) {
    std::string_view name = cookie.name;
    // A cookie without a name is sent as its bare value, which a server may read as "name=value".
    if (name.empty() && (begins_without_case(cookie.value, "__secure-") ||
                         begins_without_case(cookie.value, "__host-")))
        return false;
    if (begins_without_case(name, "__secure-")) return cookie.secure;
    if (begins_without_case(name, "__host-"))
        return cookie.secure && host_only && cookie.path == "/";
    return true;
}

std::optional<std::int64_t> expiry_of(const wire::SetCookie& cookie, std::int64_t now) {
    if (cookie.max_age)
        return *cookie.max_age <= 0 ? INT64_MIN : now + std::min(*cookie.max_age, kAgeMax);
    if (cookie.expires) return std::min(*cookie.expires, now + kAgeMax);
    return std::nullopt;
}

}  // namespace

CookieJar::CookieJar(CookieJarOptions options) : options_(std::move(options)) {}

bool CookieJar::keep(const wire::Url& url, std::string_view set_cookie) {
    std::optional<wire::SetCookie> parsed = wire::parse_set_cookie(set_cookie);
    if (!parsed || (parsed->secure && !url.is_secure())) return false;
    std::string domain = std::move(parsed->domain);
    bool is_shared = domain.find('.') == domain.npos ||
                     (options_.is_public_suffix && options_.is_public_suffix(domain));
    // A host that is itself a public suffix may set cookies for itself alone.
    if (!domain.empty() && is_shared) {
        if (domain != url.host()) return false;
        domain.clear();
    }
    bool host_only = domain.empty();
    if (host_only) domain = url.host();
    if (!domain_matches(url.host(), domain) || !honours_prefix(*parsed, host_only)) return false;
    std::int64_t now = now_in_seconds();
    Cookie cookie{
        .name = std::move(parsed->name),
        .value = std::move(parsed->value),
        .path = parsed->path.empty() ? std::string(default_path(url)) : std::move(parsed->path),
        .host_only = host_only,
        .secure = parsed->secure,
        .expires = expiry_of(*parsed, now)};
    SpinGuard guard(lock_);
    if (would_replace_secure(url, domain, cookie)) return false;
    insert(domain, std::move(cookie), now);
    return true;
}

// RFC 6265bis §5.7, step 12: an attacker on a plain http connection cannot overwrite a Secure
// cookie and so fix the session.
bool CookieJar::would_replace_secure(const wire::Url& url, std::string_view domain,
                                     const Cookie& cookie) const {
    WEFT_DASSERT(lock_.is_locked());
    if (url.is_secure()) return false;
    return std::ranges::any_of(by_domain_, [&](const auto& entry) {
        const auto& [other_domain, cookies] = entry;
        if (!domain_matches(domain, other_domain) && !domain_matches(other_domain, domain))
            return false;
        return std::ranges::any_of(cookies, [&](const Cookie& other) {
            return other.secure && other.name == cookie.name &&
                   path_matches(cookie.path, other.path);
        });
    });
}

// Replaces a cookie of the same name, domain and path, and takes over its creation time.
void CookieJar::insert(const std::string& domain, Cookie cookie, std::int64_t now) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(!domain.empty(), "cookies_for() would never find it");
    cookie.created = cookie.used = ++count_;
    auto found = by_domain_.find(domain);
    if (found != by_domain_.end()) {
        Cookies& cookies = found->second;
        auto old = std::ranges::find_if(cookies, [&](const Cookie& other) {
            return other.name == cookie.name && other.path == cookie.path &&
                   other.host_only == cookie.host_only;
        });
        if (old != cookies.end()) {
            cookie.created = old->created;
            cookies.erase(old);
            WEFT_ASSERT(size_ > 0, "every cookie is counted");
            --size_;
        }
        if (cookies.empty()) by_domain_.erase(found);
    }
    if (cookie.has_expired(now)) return;
    if (size_ >= options_.cookies) drop_expired(now);
    if (size_ >= options_.cookies) evict_one();
    Cookies& cookies = by_domain_[domain];
    if (cookies.size() >= options_.cookies_per_domain) {
        size_ -= std::erase_if(cookies, [&](const Cookie& old) { return old.has_expired(now); });
    }
    if (cookies.size() >= options_.cookies_per_domain) evict_from(cookies);
    cookies.push_back(std::move(cookie));
    ++size_;
    // A limit of 0 counts as 1.
    WEFT_ASSERT(cookies.size() <= std::max<std::size_t>(options_.cookies_per_domain, 1));
    WEFT_ASSERT(size_ <= std::max<std::size_t>(options_.cookies, 1));
}

void CookieJar::evict_from(Cookies& cookies) {
    auto oldest = std::ranges::min_element(cookies, {}, &Cookie::used);
    if (oldest == cookies.end()) return;
    cookies.erase(oldest);
    WEFT_ASSERT(size_ > 0, "every cookie is counted");
    --size_;
}

void CookieJar::evict_one() {
    WEFT_DASSERT(lock_.is_locked());
    auto oldest = by_domain_.end();
    std::uint64_t used = UINT64_MAX;
    for (auto at = by_domain_.begin(); at != by_domain_.end(); ++at) {
        for (const Cookie& cookie : at->second) {
            if (cookie.used >= used) continue;
            used = cookie.used;
            oldest = at;
        }
    }
    WEFT_ASSERT((oldest == by_domain_.end()) == (size_ == 0), "every cookie is counted");
    if (oldest == by_domain_.end()) return;
    evict_from(oldest->second);
    if (oldest->second.empty()) by_domain_.erase(oldest);
}

void CookieJar::drop_expired(std::int64_t now) {
    WEFT_DASSERT(lock_.is_locked());
    for (auto at = by_domain_.begin(); at != by_domain_.end();) {
        size_ -= std::erase_if(at->second, [&](const Cookie& old) { return old.has_expired(now); });
        at = at->second.empty() ? by_domain_.erase(at) : std::next(at);
    }
}

std::string CookieJar::cookies_for(const wire::Url& url) {
    std::int64_t now = now_in_seconds();
    std::string_view path = path_of(url);
    SpinGuard guard(lock_);
    std::vector<Cookie*> found;
    // Try the host itself, then each domain above it.
    for (std::string_view domain = url.host(); !domain.empty();) {
        if (auto entry = by_domain_.find(domain);
            entry != by_domain_.end() && domain_matches(url.host(), domain)) {
            for (Cookie& cookie : entry->second) {
                if (cookie.has_expired(now) || (cookie.secure && !url.is_secure())) continue;
                if (cookie.host_only && domain != url.host()) continue;
                if (path_matches(path, cookie.path)) found.push_back(&cookie);
            }
        }
        std::size_t dot = std::min(domain.find('.'), domain.size() - 1);
        domain.remove_prefix(dot + 1);
    }
    std::ranges::sort(found, [](const Cookie* a, const Cookie* b) {
        if (a->path.size() != b->path.size()) return a->path.size() > b->path.size();
        return a->created < b->created;
    });
    std::string field;
    for (Cookie* cookie : found) {
        std::size_t bytes = 3 + cookie->name.size() + cookie->value.size();
        if (field.size() + bytes > options_.field_bytes) continue;
        if (!field.empty()) field += "; ";
        if (!cookie->name.empty()) field.append(cookie->name).append("=");
        field += cookie->value;
        cookie->used = ++count_;
    }
    WEFT_ASSERT(field.size() <= options_.field_bytes);
    return field;
}

std::size_t CookieJar::size() const {
    SpinGuard guard(lock_);
    return size_;
}

void CookieJar::clear() {
    std::map<std::string, Cookies, std::less<>> gone;
    SpinGuard guard(lock_);
    gone.swap(by_domain_);
    size_ = 0;
}

}  // namespace weft::http
