// A response is read alike in one piece and byte by byte, and written again it is read as the same.
// The first byte says which method it answers.
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/http/wire/format.h"
#include "weft/http/wire/head.h"

namespace weft::http::wire {
namespace {

void expect_same(ResponseHead& a, ResponseHead& b) {
    WEFT_ASSERT(a.status == b.status && a.version == b.version && a.framing == b.framing);
    WEFT_ASSERT(a.length == b.length && a.keep_alive == b.keep_alive);
    WEFT_ASSERT(a.headers.size() == b.headers.size());
    for (std::size_t i = 0; i < a.headers.size(); ++i) {
        WEFT_ASSERT(a.headers.begin()[i].name == b.headers.begin()[i].name);
        WEFT_ASSERT(a.headers.begin()[i].value == b.headers.begin()[i].value);
    }
}

void expect_sound(ResponseHead& head, std::string_view method) {
    WEFT_ASSERT(head.status >= 100 && head.status <= 999 && is_field_value(head.reason));
    for (const Headers::Field& field : head.headers) {
        WEFT_ASSERT(is_token(field.name) && is_field_value(field.value));
        // Also where it was folded.
        WEFT_ASSERT(!field.value.starts_with(' ') && !field.value.ends_with('\t'));
    }
    // RFC 9110 §9.3.6: behind a tunnel's head there is no body, whatever the head says of one.
    bool is_tunnel = method == "CONNECT" && head.status / 100 == 2;
    std::size_t framing =
        head.headers.count("content-length") + head.headers.count("transfer-encoding");
    WEFT_ASSERT(is_tunnel || framing <= 1);
    WEFT_ASSERT(is_tunnel || framing == 0 || head.framing != Framing::UntilClose);
    WEFT_ASSERT(head.framing != Framing::UntilClose || !head.keep_alive);
}

std::string written(ResponseHead& head) {
    std::string text;
    append_status_line(text, head.status);
    if (head.version == Version::Http10) text[7] = '0';
    append_fields(text, head.headers);
    return text.append(kHeadEnd);
}

}  // namespace
}  // namespace weft::http::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weft::http::wire;
    if (size == 0) return 0;
    std::string_view method = data[0] == 'H' ? "HEAD" : data[0] == 'C' ? "CONNECT" : "GET";
    std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    ResponseParser whole;
    Progress progress = whole.parse(bytes, method);
    ResponseParser bytewise;
    Progress stepped = Progress::NeedMore;
    for (std::size_t i = 0; i <= bytes.size() && stepped == Progress::NeedMore; ++i) {
        stepped = bytewise.parse(bytes.substr(0, i), method);
    }
    WEFT_ASSERT((progress == Progress::Done) == (stepped == Progress::Done));
    if (progress != Progress::Done) return 0;
    WEFT_ASSERT(whole.consumed() == bytewise.consumed());
    WEFT_ASSERT(whole.head().reason == bytewise.head().reason);
    expect_same(whole.head(), bytewise.head());
    expect_sound(whole.head(), method);
    std::string text = written(whole.head());
    ResponseParser again;
    WEFT_ASSERT(again.parse(text, method) == Progress::Done && again.consumed() == text.size());
    expect_same(whole.head(), again.head());
    return 0;
}
