// The native functions of url.js. The script stores the serialized URL and the offsets of its
// parts, and extracts a part on demand.
#include <algorithm>
#include <cstring>

#include "weft/api/url/bindings.h"
#include "weft/api/url/host.h"
#include "weft/api/url/percent.h"
#include "weft/api/url/url.h"
#include "weft/api/url/url_offsets.h"
#include "weft/base/assert.h"

namespace weft::api {

void write_offsets(js::Call& call, int at, const UrlOffsets& offsets) {
    auto array = call[at].As<v8::Uint32Array>();
    WEFT_ASSERT(array->ByteLength() >= sizeof offsets, "the prelude passes eight numbers");
    auto* to = static_cast<std::byte*>(array->Buffer()->Data()) + array->ByteOffset();
    std::memcpy(to, &offsets, sizeof offsets);
}

namespace {

// An href is ASCII.
void give_url(js::Call& call, const Url& url, int offsets_at) {
    UrlOffsets offsets;
    std::string href = url.href(offsets);
    write_offsets(call, offsets_at, offsets);
    call.give_latin1(href);
}

void url_parse(js::Call& call) {
    std::string input = call.text(0);
    UrlOffsets offsets;
    if (!call.has(1) && is_serialized(input, offsets)) {
        write_offsets(call, 2, offsets);
        call.give(call[0]);
        return;
    }
    // An invalid base is a failure even if the input does not need a base.
    std::optional<Url> base;
    if (call.has(1)) {
        base = Url::parse(call.text(1));
        if (!base) return;
    }
    auto url = Url::parse(input, base ? &*base : nullptr);
    if (url) give_url(call, *url, 2);
}

// The order must match `setters` in url.js.
void url_set(js::Call& call) {
    using Setter = void (Url::*)(std::string_view);
    constexpr Setter kSetters[] = {&Url::set_protocol, &Url::set_username, &Url::set_password,
                                   &Url::set_host,     &Url::set_hostname, &Url::set_port,
                                   &Url::set_pathname, &Url::set_search,   &Url::set_hash};
    auto url = Url::parse(call.text(1));
    WEFT_ASSERT(url.has_value(), "a serialized URL can be parsed");
    auto which = static_cast<std::size_t>(call.integer(0));
    WEFT_ASSERT(which < std::size(kSetters), "the prelude passes a known part");
    ((*url).*kSetters[which])(call.text(2));
    give_url(call, *url, 3);
}

void url_origin(js::Call& call) {
    auto url = Url::parse(call.text(0));
    WEFT_ASSERT(url.has_value(), "a serialized URL can be parsed");
    call.give_latin1(url->origin());
}

void url_host(js::Call& call) {
    auto host = parse_host(call.text(0), call.flag(1) ? HostKind::Opaque : HostKind::Domain);
    if (host) call.give_latin1(*host);
}

void url_domain_to_ascii(js::Call& call) {
    auto ascii = domain_to_ascii(call.text(0));
    call.give_latin1(ascii.value_or(""));
}

void url_domain_to_unicode(js::Call& call) {
    auto ascii = domain_to_ascii(call.text(0));
    call.give(std::string_view(ascii ? domain_to_unicode(*ascii) : ""));
}

// https://url.spec.whatwg.org/#urlencoded-parsing, steps 3.4 and 3.5, for a name or a value that
// has a "%" or a "+".
void form_decode(js::Call& call) {
    std::string text = call.text(0);
    std::ranges::replace(text, '+', ' ');
    call.give(std::string_view(percent_decoded(text)));
}

// https://url.spec.whatwg.org/#urlencoded-serializing for one name or value: "the
// application/x-www-form-urlencoded percent-encode set ... contains all code points, except the
// ASCII alphanumeric, U+002A (*), U+002D (-), U+002E (.), and U+005F (_)"; a space becomes "+".
void form_encode(js::Call& call) {
    std::string encoded;
    for (char c : call.text(0)) {
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '*' || c == '-' || c == '.' || c == '_';
        if (plain)
            encoded += c;
        else if (c == ' ')
            encoded += '+';
        else
            append_percent_encoded(static_cast<unsigned char>(c), encoded);
    }
    call.give_latin1(encoded);
}

void url_percent_decode(js::Call& call) {
    call.give_bytes(as_bytes(percent_decoded(call.text(0))));
}

// Percent-encoding for URLPattern; the set is 0 for C0 controls, 1 for fragments, 2 for queries.
void url_percent_encode(js::Call& call) {
    constexpr const PercentEncodeSet* kSets[] = {&kC0ControlSet, &kFragmentSet, &kQuerySet};
    std::string encoded;
    append_encoded(call.text(0), *kSets[static_cast<std::size_t>(call.integer(1))], encoded);
    call.give_latin1(encoded);
}

constexpr js::Binding kUrlBindings[] = {
    js::bind<url_parse>(
        "urlParse",
        "(input: string, base: string | undefined, offsets: Uint32Array): string | undefined"),
    js::bind<url_set>("urlSet",
                      "(part: number, href: string, value: string, offsets: Uint32Array): string"),
    js::bind<url_origin>("urlOrigin", "(href: string): string"),
    js::bind<url_host>("urlHost", "(host: string, opaque: boolean): string | undefined"),
    js::bind<form_decode>("formDecode", "(text: string): string"),
    js::bind<form_encode>("formEncode", "(text: string): string"),
    js::bind<url_percent_decode>("percentDecode", "(text: string): ArrayBuffer"),
    js::bind<url_percent_encode>("urlPercentEncode", "(text: string, set: number): string"),
    js::bind<url_domain_to_ascii>("urlDomainToAscii", "(domain: string): string"),
    js::bind<url_domain_to_unicode>("urlDomainToUnicode", "(domain: string): string"),
};

}  // namespace

std::span<const js::Binding> url_bindings() { return kUrlBindings; }

}  // namespace weft::api
