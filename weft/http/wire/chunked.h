// The chunked transfer coding (RFC 9112 §7.1), both ways.
//
// The decoder is given bytes as they come, and says how many of them it has used and which part of
// them is content; it uses nothing behind the end of the body. Strict: CRLF only, hexadecimal
// digits only, extensions are parsed by their grammar, bounded and dropped. Trailer fields are kept
// if they are allowed there; those that would change framing, routing or the connection are an
// error, others that are not allowed (RFC 9110 §6.5.1) are dropped.
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
    std::size_t extension_bytes_total = 16 * 1024;
    std::size_t trailer_bytes = 8 * 1024;
    std::size_t trailers = 32;
};

class ChunkedDecoder {
public:
    explicit ChunkedDecoder(const ChunkedLimits& limits = {}) : limits_(limits) {}

    struct Step {
        std::size_t used = 0;      // of the bytes given; the rest is to be given again
        std::string_view content;  // lies in the bytes given
        Progress progress = Progress::NeedMore;
    };
    // Gives at most one piece of content, so after NeedMore call it again until all bytes are used.
    // Done: the body ended with the last byte used, and the step has no content.
    Step decode(std::string_view bytes);
    const ParseError& error() const { return error_; }
    Headers& trailers() { return trailers_; }  // after Done; owns its texts
    void reset();

private:
    enum class State : std::uint8_t {
        Size,
        ExtensionBegin,  // behind ';'
        ExtensionName,
        ExtensionNameEnd,
        ExtensionValueBegin,  // behind '='
        ExtensionValue,
        ExtensionQuoted,
        ExtensionEscape,
        ExtensionQuotedEnd,
        ExtensionValueEnd,
        SizeEnd,
        Content,
        ContentEnd,
        ContentEndLf,
        Trailer,
        Done,
    };

    bool fail(const ParseError& error);
    bool fail(std::uint16_t status, const char* reason) { return fail({status, reason}); }
    bool take(char c);  // false once it has failed
    bool take_size(char c);
    bool take_extension(char c);
    bool take_trailer(char c);
    bool end_trailer();

    ChunkedLimits limits_;
    State state_ = State::Size;
    std::uint64_t left_ = 0;  // of the content; in State::Size, its size as far as it was read
    unsigned digits_ = 0;
    std::size_t extension_bytes_ = 0;
    std::size_t extension_bytes_total_ = 0;
    std::string line_;  // of a trailer, as far as it has come
    std::size_t trailer_bytes_ = 0;
    Headers trailers_;
    ParseError error_;
};

// The size line before a chunk of `bytes` bytes: at most 18 characters.
struct ChunkHead {
    std::array<char, 18> text;
    std::uint8_t size = 0;
    std::string_view view() const { return {text.data(), size}; }
};
inline constexpr std::string_view kHexDigits = "0123456789abcdef";
ChunkHead chunk_head(std::uint64_t bytes);
inline constexpr std::string_view kChunkEnd = "\r\n";
// Ends the body: the last chunk, the trailers, which may be none, and the empty line.
void append_last_chunk(std::string& out, const Headers& trailers);

}  // namespace weft::http::wire
