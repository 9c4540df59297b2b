// A request is read alike in one piece and byte by byte, what is taken is sound, and written again
// it is read as the same.
#include <cstdint>
#include <string>

#include "weft/base/assert.h"
#include "weft/http/wire/format.h"
#include "weft/http/wire/head.h"
#include "weft/http/wire/utf8.h"

namespace weft::http::wire {
namespace {

void expect_same(RequestHead& a, RequestHead& b) {
    WEFT_ASSERT(a.method == b.method && a.target == b.target && a.version == b.version);
    WEFT_ASSERT(a.framing == b.framing && a.length == b.length && a.keep_alive == b.keep_alive);
    WEFT_ASSERT(a.expects_continue == b.expects_continue && a.upgrades == b.upgrades);
    WEFT_ASSERT(a.host == b.host && a.headers.size() == b.headers.size());
    for (std::size_t i = 0; i < a.headers.size(); ++i) {
        WEFT_ASSERT(a.headers.begin()[i].name == b.headers.begin()[i].name);
        WEFT_ASSERT(a.headers.begin()[i].value == b.headers.begin()[i].value);
    }
}

void expect_sound(RequestHead& head, std::string_view bytes) {
    WEFT_ASSERT(bytes.ends_with("\r\n\r\n"));
    WEFT_ASSERT(is_token(head.method));
    WEFT_ASSERT(parse_target(head.method, head.target));
    for (const Headers::Field& field : head.headers) {
        WEFT_ASSERT(is_token(field.name) && is_field_value(field.value));
        WEFT_ASSERT(!field.value.starts_with(' ') && !field.value.ends_with('\t'));
    }
    std::size_t lengths = head.headers.count("content-length");
    std::size_t codings = head.headers.count("transfer-encoding");
    WEFT_ASSERT(lengths + codings <= 1 && head.headers.count("host") <= 1);
    WEFT_ASSERT((lengths == 1) == (head.framing == Framing::Length));
    WEFT_ASSERT((codings == 1) == (head.framing == Framing::Chunked));
    WEFT_ASSERT(head.version == Version::Http10 || parse_host_port(head.host));
}

// Where UTF-8 may stand in targets, everything is read that is read elsewhere, and as the same.
void expect_more_with_utf8(std::string_view bytes, RequestParser& strict) {
    RequestParser wide({.utf8_targets = Utf8Targets::Allow});
    bool is_read = wide.parse(bytes) == Progress::Done;
    bool is_read_strictly = strict.parse(bytes) == Progress::Done;
    WEFT_ASSERT(is_read || !is_read_strictly);
    if (is_read_strictly) expect_same(wide.head(), strict.head());
    if (is_read) WEFT_ASSERT(is_utf8(wide.head().target));
}

std::string written(RequestHead& head) {
    std::string text;
    append_request_line(text, head.method, head.target);
    if (head.version == Version::Http10) text[text.size() - 3] = '0';
    append_fields(text, head.headers);
    return text.append(kHeadEnd);
}

}  // namespace
}  // namespace weft::http::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weft::http::wire;
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    RequestParser whole;
    Progress progress = whole.parse(bytes);
    RequestParser bytewise;
    Progress stepped = Progress::NeedMore;
    for (std::size_t i = 0; i <= size && stepped == Progress::NeedMore; ++i) {
        stepped = bytewise.parse(bytes.substr(0, i));
    }
    WEFT_ASSERT((progress == Progress::Done) == (stepped == Progress::Done));
    expect_more_with_utf8(bytes, whole);
    if (progress != Progress::Done) return 0;
    WEFT_ASSERT(whole.consumed() == bytewise.consumed());
    expect_same(whole.head(), bytewise.head());
    expect_sound(whole.head(), bytes.substr(0, whole.consumed()));
    std::string text = written(whole.head());
    RequestParser again;
    WEFT_ASSERT(again.parse(text) == Progress::Done && again.consumed() == text.size());
    expect_same(whole.head(), again.head());
    return 0;
}
