// The input is an event stream. However it is cut, the events are the same; and an event that was
// read is read again when it is written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/http/wire/sse.h"
#include "weft/http/wire/utf8.h"

namespace weft::http::wire {
namespace {

constexpr std::size_t kEventBytesMax = 1000;

void check_round_trip(const EventStreamParser::Event& event) {
    WEFT_ASSERT(is_utf8(event.data) && is_utf8(event.type) && is_utf8(event.last_event_id));
    // A type may have NUL in it when it is read, but not when it is written.
    if (event.type.contains('\0')) return;
    auto text = format_event({.id = event.last_event_id, .type = event.type, .data = event.data});
    WEFT_ASSERT(text);
    Bytes bytes = as_bytes(*text);
    EventStreamParser parser(16 * kEventBytesMax);
    auto again = parser.next(bytes);
    WEFT_ASSERT(again && *again);
    WEFT_ASSERT((*again)->data == event.data && (*again)->type == event.type &&
                (*again)->last_event_id == event.last_event_id);
    WEFT_ASSERT(bytes.empty());
}

// The events one after the other, and what the stream left behind.
std::string parse(std::string_view stream, std::size_t part_bytes) {
    EventStreamParser parser(kEventBytesMax);
    std::string seen;
    while (!stream.empty()) {
        Bytes bytes = as_bytes(stream.substr(0, part_bytes));
        stream.remove_prefix(bytes.size());
        for (;;) {
            auto event = parser.next(bytes);
            if (!event) {
                WEFT_ASSERT(event.error().kind() == ErrorKind::Limit);
                return seen + "limit";
            }
            if (!*event) break;
            seen += std::to_string((*event)->data.size()) + ' ';
            seen += (*event)->data;
            seen += '|';
            seen += (*event)->type;
            seen += '|';
            seen += (*event)->last_event_id;
            seen += '\n';
            check_round_trip(**event);
        }
        WEFT_ASSERT(bytes.empty());
    }
    seen += parser.last_event_id();
    if (parser.retry()) seen += std::to_string(parser.retry()->count());
    return seen;
}

}  // namespace
}  // namespace weft::http::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace weft::http::wire;
    std::string_view input(reinterpret_cast<const char*>(bytes), size);
    std::string whole = parse(input, size + 1);
    WEFT_ASSERT(parse(input, 1) == whole);
    WEFT_ASSERT(parse(input, 2) == whole);
    WEFT_ASSERT(parse(input, 5) == whole);
    return 0;
}
