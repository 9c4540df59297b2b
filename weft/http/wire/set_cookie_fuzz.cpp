// A Set-Cookie field of any bytes: what comes out can be sent back, within its limits.
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/http/client/cookie_jar.h"
#include "weft/http/headers.h"
#include "weft/http/wire/set_cookie.h"
#include "weft/http/wire/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace weft::http;
    std::string_view field(reinterpret_cast<const char*>(bytes), size);
    static_cast<void>(wire::parse_cookie_date(field));
    auto cookie = wire::parse_set_cookie(field);
    CookieJar jar;
    const wire::Url url = *wire::Url::parse("https://a.b.example/dir/page");
    bool stored = jar.keep(url, field);
    WEFT_ASSERT(cookie || !stored, "what is no cookie was stored");
    if (!cookie) return 0;
    WEFT_ASSERT(cookie->name.size() + cookie->value.size() <= wire::kCookieBytesMax, "too long");
    std::string text = cookie->name + "=" + cookie->value;
    WEFT_ASSERT(is_field_value(text), "it cannot be sent");
    WEFT_ASSERT(cookie->name.find_first_of(";=") == std::string::npos, "it is another name");
    WEFT_ASSERT(cookie->value.find(';') == std::string::npos, "it is another value");
    auto again = wire::parse_set_cookie(text);
    WEFT_ASSERT(again && again->name == cookie->name && again->value == cookie->value,
                "it does not come back");
    // Whatever it says, it is for this host and what is above it.
    const wire::Url other = *wire::Url::parse("https://other.test/dir/page");
    WEFT_ASSERT(jar.cookies_for(other).empty(), "it is for somebody else");
    WEFT_ASSERT(is_field_value(jar.cookies_for(url)), "the field cannot be sent");
    WEFT_ASSERT(jar.size() <= 1, "more than one");
    return 0;
}
