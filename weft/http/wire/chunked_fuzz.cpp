// A chunked body is read alike in pieces of any size, and its content and trailers, sent again, are
// read as the same.
#include <algorithm>
#include <cstdint>
#include <string>

#include "weft/base/assert.h"
#include "weft/http/wire/chunked.h"
#include "weft/http/wire/format.h"

namespace weft::http::wire {
namespace {

struct Outcome {
    Progress progress = Progress::NeedMore;
    std::size_t used = 0;
    std::string content;
    std::string trailers;

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome decode(std::string_view bytes, std::size_t piece) {
    ChunkedDecoder decoder;
    Outcome outcome;
    std::size_t given = 0;
    while (outcome.progress == Progress::NeedMore) {
        if (outcome.used == given) {
            if (given == bytes.size()) break;
            given = std::min(given + piece, bytes.size());
        }
        auto step = decoder.decode(bytes.substr(outcome.used, given - outcome.used));
        WEFT_ASSERT(step.used <= given - outcome.used && step.content.size() <= step.used);
        WEFT_ASSERT(step.used != 0);
        outcome.content.append(step.content);
        outcome.used += step.used;
        outcome.progress = step.progress;
    }
    for (const Headers::Field& field : decoder.trailers()) {
        append_field(outcome.trailers, field.name, field.value);
    }
    return outcome;
}

}  // namespace
}  // namespace weft::http::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weft::http::wire;
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    Outcome whole = decode(bytes, std::max<std::size_t>(size, 1));
    for (std::size_t piece : {1, 3}) WEFT_ASSERT(decode(bytes, piece) == whole);
    if (whole.progress != Progress::Done) return 0;
    WEFT_ASSERT(bytes.substr(0, whole.used).ends_with("\r\n\r\n"));
    std::string text;
    if (!whole.content.empty()) {
        text.append(chunk_head(whole.content.size()).view());
        text.append(whole.content).append(kChunkEnd);
    }
    text.append("0\r\n").append(whole.trailers).append(kHeadEnd);
    Outcome again = decode(text, text.size());
    WEFT_ASSERT(again.progress == Progress::Done && again.used == text.size());
    WEFT_ASSERT(again.content == whole.content && again.trailers == whole.trailers);
    return 0;
}
