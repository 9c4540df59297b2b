// A multipart form of any bytes: it is read the same whatever parts its bytes come in, what comes
// out lies in what went in, and nothing is longer than its limit.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/http/wire/multipart.h"

namespace {

using namespace weft::http::wire;
using Event = MultipartStep::Event;

constexpr MultipartLimits kLimits{.parts = 4, .head_bytes = 200, .name_bytes = 20};

std::string read(std::string_view form, std::size_t step) {
    MultipartParser parser("b", kLimits);
    std::string told;
    std::size_t used = 0;
    for (std::size_t there = 0;;) {
        MultipartStep next = parser.next(form.substr(used, there - used));
        WEFT_ASSERT(next.used <= there - used, "more than there is");
        used += next.used;
        switch (next.event) {
        case Event::NeedMore:
            WEFT_ASSERT(next.used == 0, "nothing was said of what was used");
            WEFT_ASSERT(there - used <= parser.bytes_needed_max(), "too much is wanted");
            if (there == form.size()) return told + (parser.finish(form.substr(used)) ? "." : "!");
            there = std::min(there + step, form.size());
            break;
        case Event::Part:
            WEFT_ASSERT(parser.part().name.size() <= kLimits.name_bytes, "a long name");
            told += "[" + parser.part().name + "|" + parser.part().file_name.value_or("") + "|" +
                    parser.part().content_type + "|";
            static_cast<void>(safe_file_name(parser.part().file_name.value_or("")));
            break;
        case Event::Content:
            WEFT_ASSERT(!next.content.empty(), "no content");
            told += next.content;
            break;
        case Event::PartEnd: told += "]"; break;
        case Event::End: WEFT_ASSERT(next.used > 0, "an end without end"); break;
        case Event::Failed: return told + "!" + parser.error().message();
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(bytes), size);
    std::string whole = read(text, size + 1);
    WEFT_ASSERT(read(text, 1) == whole, "by bytes it is another form");
    WEFT_ASSERT(read(text, 5) == whole, "in pieces it is another form");
    if (auto boundary = parse_multipart_type(text)) {
        WEFT_ASSERT(!boundary->empty() && boundary->size() <= 70, "no boundary");
    }
    return 0;
}
