// URLs, references, targets, hosts, paths, queries and dates: what is taken is sound, and written
// again it is read as the same. A base and a reference are two lines.
#include <cstdint>
#include <string>

#include "weft/base/assert.h"
#include "weft/http/headers.h"
#include "weft/http/wire/date.h"
#include "weft/http/wire/target.h"

namespace weft::http::wire {
namespace {

void expect_sound(const Url& url) {
    WEFT_ASSERT(url.port() != 0 && !url.host().empty());
    WEFT_ASSERT(url.target().starts_with('/') &&
                url.target().find_first_of("# \r\n") == url.target().npos);
    WEFT_ASSERT(parse_host_port(url.authority()));
    std::string text = url.to_string();
    Result<Url> again = Url::parse(text);
    WEFT_ASSERT(again && again->to_string() == text && again->port() == url.port());
}

void try_url(std::string_view text) {
    std::size_t line_end = std::min(text.find('\n'), text.size());
    Result<Url> base = Url::parse(text.substr(0, line_end));
    if (!base) return;
    expect_sound(*base);
    if (line_end == text.size()) return;
    std::string_view reference = text.substr(line_end + 1);
    Result<Url> resolved = base->resolve(reference);
    if (!resolved) return;
    expect_sound(*resolved);
    std::string path = resolved->target().substr(0, resolved->target().find('?'));
    // The path of the base is taken as it is where the reference has none.
    std::size_t first = reference.find_first_not_of(" \t\r\n");
    bool has_path = first != reference.npos && reference[first] != '?' && reference[first] != '#';
    WEFT_ASSERT(!has_path || (path + "/").find("/../") == path.npos);
}

void try_target(std::string_view text) {
    for (std::string_view method : {"GET", "OPTIONS", "CONNECT"}) {
        std::optional<Target> target = parse_target(method, text);
        if (!target) continue;
        WEFT_ASSERT((method == "CONNECT") == (target->form == Target::Form::Authority));
        bool has_authority = !target->authority.empty();
        WEFT_ASSERT(!has_authority || parse_host_port(target->authority));
        WEFT_ASSERT(text.find_first_of("# \r\n\t") == text.npos);
    }
}

void try_path(std::string_view text) {
    std::string encoded = percent_encode(text);
    bool has_nul = text.find('\0') != text.npos;
    WEFT_ASSERT(has_nul ? !percent_decode(encoded) : percent_decode(encoded) == text);
    std::optional<std::string> path = normalize_path(text);
    if (!path) return;
    WEFT_ASSERT(path->starts_with('/') && path->find('\0') == path->npos);
    WEFT_ASSERT((*path + "/").find("/../") == path->npos);
    WEFT_ASSERT((*path + "/").find("/./") == path->npos);
    WEFT_ASSERT(normalize_path(percent_encode(*path, Slashes::Keep)) == *path);
}

void try_query(std::string_view text) {
    std::string again;
    auto pairs = parse_query(text);
    for (const auto& [name, value] : pairs) {
        again += percent_encode(name) + "=" + percent_encode(value) + "&";
    }
    WEFT_ASSERT(parse_query(again) == pairs);
}

void try_date(std::string_view text) {
    constexpr std::int64_t kNow = 1794776400;
    std::optional<std::int64_t> date = parse_date(text, kNow);
    if (date) WEFT_ASSERT(parse_date(format_date(*date).view(), kNow) == date);
}

}  // namespace
}  // namespace weft::http::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weft::http::wire;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    try_url(text);
    try_target(text);
    try_path(text);
    try_query(text);
    try_date(text);
    return 0;
}
