// The chunked transfer coding (RFC 9112 §7.1), both ways.
//
// The decoder is given bytes as they come and says how many it has used and which part of them is
// content; it never looks behind. Strict: CRLF only, hexadecimal digits only, extensions are read
// by their grammar, bounded and dropped. Trailer fields are kept if they may stand there.
//
// Owned by one fiber at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/http/headers.h"
#include "weft/http/wire/head.h"

namespace weft::http::wire {

struct ChunkedLimits {
    std::size_t extension_bytes = 256;  // of one chunk
    std::size_t trailer_bytes = 8 * 1024;
    std::size_t trailers = 32;
};

class ChunkedDecoder {
public:
    explicit ChunkedDecoder(const ChunkedLimits& limits = {}) : limits_(limits) {}

    struct Step {
        std::size_t used = 0;      // of the bytes given; the rest comes again, with more
        std::string_view content;  // lies in the bytes given
        Progress progress = Progress::NeedMore;
    };
    // At most one piece of content at a time. Done: the body ended, `used` bytes ago.
    Step decode(std::string_view bytes);
    const ParseError& error() const { return error_; }
    Headers& trailers() { return trailers_; }  // after Done; owns its texts
    void reset();

private:
    enum class State : std::uint8_t {
        Size,
        Extension,
        SizeEnd,
        Content,
        ContentEnd,
        ContentEndLf,
        Trailer,
        TrailerEnd,
        Done,
    };

    ChunkedLimits limits_;
    State state_ = State::Size;
    std::uint64_t left_ = 0;  // of the size, then of the content
    unsigned digits_ = 0;
    std::size_t extension_ = 0;
    std::string line_;  // an extension or a trailer that came in parts
    std::size_t trailer_bytes_ = 0;
    Headers trailers_;
    ParseError error_;
};

// What stands before a chunk of `bytes` bytes: at most 18 characters.
struct ChunkHead {
    std::array<char, 18> text;
    std::uint8_t size = 0;
    std::string_view view() const { return {text.data(), size}; }
};
ChunkHead chunk_head(std::uint64_t bytes);
inline constexpr std::string_view kChunkEnd = "\r\n";
// Ends the body; with trailers, they stand between this "0\r\n" and an empty line.
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace weft::http::wire
