// Parses any text as a URL, alone and against a base. The result must be ASCII and parse to itself,
// also after a setter was called.
#include "weft/api/url/url.h"
#include "weft/base/assert.h"

namespace {

using weft::api::Url;
using weft::api::UrlOffsets;

void check(const Url& url) {
    UrlOffsets offsets;
    std::string href = url.href(offsets);
    for (char c : href) WEFT_ASSERT(c > 0x1F && c < 0x7F, "an href is printable ASCII");
    WEFT_ASSERT(offsets.protocol_end <= offsets.username_end, "in order");
    WEFT_ASSERT(offsets.username_end <= offsets.host_start, "in order");
    WEFT_ASSERT(offsets.host_start <= offsets.host_end, "in order");
    WEFT_ASSERT(offsets.host_end <= offsets.pathname, "in order");
    auto again = Url::parse(href);
    WEFT_ASSERT(again.has_value(), "what was serialized can be parsed");
    WEFT_ASSERT(again->href() == href, "and is the same then");
    if (UrlOffsets quick; weft::api::is_serialized(href, quick))
        WEFT_ASSERT(quick.pathname == offsets.pathname && quick.search == offsets.search &&
                        quick.hash == offsets.hash && quick.host_end == offsets.host_end,
                    "the quick look sees the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    constexpr void (Url::* kSetters[])(std::string_view) = {
        &Url::set_protocol, &Url::set_username, &Url::set_password,
        &Url::set_host,     &Url::set_hostname, &Url::set_port,
        &Url::set_pathname, &Url::set_search,   &Url::set_hash};
    std::string_view text(reinterpret_cast<const char*>(bytes + 1), size - 1);
    // The first line is a URL or a base; the rest is relative to it or the argument of a setter.
    std::size_t split = text.find('\n');
    std::string_view first = text.substr(0, split);
    std::string_view second = split == std::string_view::npos ? "" : text.substr(split + 1);
    auto url = Url::parse(first);
    if (!url) return 0;
    check(*url);
    if (auto relative = Url::parse(second, &*url)) check(*relative);
    ((*url).*kSetters[bytes[0] % std::size(kSetters)])(second);
    check(*url);
    return 0;
}
