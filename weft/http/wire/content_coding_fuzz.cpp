// The first byte chooses a coding; the rest is decoded as it stands, and encoded and decoded back.
//
// However the bytes are cut, the content is the same, and so is whether it is whole. No content is
// larger than its limit. What is encoded, with flushes in between, comes back.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/assert.h"
#include "weft/http/wire/content_coding.h"

namespace weft::http::wire {
namespace {

constexpr std::uint64_t kContentBytesMax = 200'000;

struct Decoded {
    std::string content;
    bool whole = false;

    friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded decode(Coding coding, std::string_view encoded, std::size_t part_bytes,
               std::size_t space_bytes) {
    auto decoder = Decoder::create(coding, {.content_bytes = kContentBytesMax});
    WEFT_ASSERT(decoder);
    Decoded decoded;
    std::vector<std::byte> space(space_bytes);
    while (!encoded.empty()) {
        Bytes bytes = as_bytes(encoded.substr(0, part_bytes));
        encoded.remove_prefix(bytes.size());
        for (;;) {
            auto step = decoder->decode(bytes, space);
            if (!step) return decoded;
            WEFT_ASSERT(step->used <= bytes.size() && step->made <= space.size());
            decoded.content += as_text(Bytes(space).first(step->made));
            WEFT_ASSERT(decoded.content.size() <= kContentBytesMax);
            bytes = bytes.subspan(step->used);
            if (step->made == space.size()) continue;
            WEFT_ASSERT(bytes.empty(), "all bytes are used unless the space is full");
            break;
        }
    }
    decoded.whole = decoder->finish().has_value();
    return decoded;
}

std::string encode(Coding coding, std::string_view content) {
    auto encoder = Encoder::create(coding, 1);
    WEFT_ASSERT(encoder);
    std::string out;
    std::array<std::byte, 100> space;
    bool done = false;
    while (!done) {
        // Flushed at every zero.
        Bytes bytes = as_bytes(content.substr(0, content.find('\0')));
        content.remove_prefix(bytes.size());
        bool last = content.empty();
        if (!last) {
            bytes = Bytes(bytes.data(), bytes.size() + 1);
            content.remove_prefix(1);
        }
        for (done = false; !done;) {
            auto step = encoder->encode(bytes, space, last ? Until::Finished : Until::Flushed);
            WEFT_ASSERT(step);
            out += as_text(Bytes(space).first(step->made));
            bytes = bytes.subspan(step->used);
            done = step->done;
        }
        done = last;
    }
    return out;
}

}  // namespace
}  // namespace weft::http::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace weft::http::wire;
    if (size == 0) return 0;
    auto coding = static_cast<Coding>(bytes[0] % 5);
    std::string_view input(reinterpret_cast<const char*>(bytes) + 1, size - 1);
    Decoded whole = decode(coding, input, size, 10'000);
    Decoded parts = decode(coding, input, 3, 1000);
    // What comes out before an error depends on how much is asked for at once. libzstd compares the
    // size that a frame announces with an empty last block only if it has the whole frame at once.
    WEFT_ASSERT(whole.whole == parts.whole || coding == Coding::Zstd);
    WEFT_ASSERT(!(whole.whole && parts.whole) || whole == parts);

    Decoded back = decode(coding, encode(coding, input), 50, 100);
    WEFT_ASSERT(back.whole && back.content == input);

    constexpr std::array kOffered = {Coding::Brotli, Coding::Gzip};
    static_cast<void>(choose_coding(input, kOffered));
    static_cast<void>(parse_content_encoding(input));
    return 0;
}
