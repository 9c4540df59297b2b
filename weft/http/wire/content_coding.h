// Content codings (RFC 9110 §8.4.1): gzip, deflate, br (RFC 7932) and zstd (RFC 8878), both ways,
// and the fields that choose one.
//
//     Coding coding = WEFT_TRY(parse_content_encoding(field));
//     Decoder decoder = WEFT_TRY(Decoder::create(coding, {.content_bytes = 16 << 20}));
//     for each part that was received:
//         do {
//             auto step = WEFT_TRY(decoder.decode(part, space));
//             part = part.subspan(step.used); use space.first(step.made);
//         } while (!part.empty() || step.made == space.size());
//     WEFT_TRY(decoder.finish());
//
// A Decoder and an Encoder are owned by one fiber at a time; the functions are for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/result.h"

namespace weft::http::wire {

enum class Coding : std::uint8_t { Identity, Gzip, Deflate, Brotli, Zstd };

std::string_view to_string(Coding coding);  // as fields name it: "identity", "gzip", "br", ...
std::optional<Coding> parse_coding(std::string_view name);  // "x-gzip" is gzip

// The coding of a Content-Encoding field. More than one layer is Limit, because each layer
// multiplies the size to which a byte can be decoded; an unknown coding is Unavailable.
Result<Coding> parse_content_encoding(std::string_view field);

// The best of the codings for a client with this Accept-Encoding field (RFC 9110 §12.5.3): the one
// it weights most, among equals the one offered first. Identity is always on offer, comes last
// among equals, and is what a malformed field gives. Nothing if the client refuses all.
std::optional<Coding> choose_coding(std::string_view accept_encoding,
                                    std::span<const Coding> offered);

struct DecoderLimits {
    std::uint64_t content_bytes = 16 * 1024 * 1024;
    // Content may not be larger than this many times what it was decoded from. Checked only from
    // ratio_from_bytes of content on, because the beginning of any text may repeat itself. With a
    // ratio of 0 no more content than that is decoded.
    std::uint64_t ratio = 100;
    std::uint64_t ratio_from_bytes = 1024 * 1024;
};

// Decodes a stream of one coding. Its memory is bounded too: a window is at most 32 KiB (gzip,
// deflate), 16 MiB (br) or 8 MiB (zstd, RFC 9659); a stream that asks for more is refused. Gzip may
// have several members, zstd several frames. The zlib header of deflate may be missing, as browsers
// allow.
class Decoder {
public:
    static Result<Decoder> create(Coding coding, const DecoderLimits& limits = {});
    Decoder(Decoder&&) noexcept;
    Decoder& operator=(Decoder&&) noexcept;
    ~Decoder();

    struct Step {
        std::size_t used = 0;  // of the bytes given; all of them unless the space is full
        std::size_t made = 0;  // at the beginning of the space
    };
    // When the space was filled there may be more content, also without more bytes. Limit for
    // content that is too large, by size or ratio; Other for bytes that are not such a stream, and
    // for anything behind its end. After an error neither function may be called.
    Result<Step> decode(Bytes bytes, ByteSpace space);
    // There are no more bytes: Other if the stream was cut off. No bytes at all are no content.
    Result<void> finish() const;

    class Engine;

private:
    Decoder(std::unique_ptr<Engine> engine, const DecoderLimits& limits);

    std::unique_ptr<Engine> engine_;
    DecoderLimits limits_;
    std::uint64_t used_ = 0;
    std::uint64_t made_ = 0;
};

// What an Encoder must have written when encode() is done.
enum class Until : std::uint8_t {
    Convenient,  // whatever compresses best
    Flushed,     // all bytes given can be decoded: for streams whose reader waits for them
    Finished,    // the end of the stream
};

class Encoder {
public:
    // The space given to encode() is at least so large.
    static constexpr std::size_t kSpaceBytesMin = 64;

    // Levels as the coding counts them: 1 to 9, br 0 to 11, zstd 1 to 19; Misuse for others. The
    // default suits answers that are compressed as they are sent.
    static Result<Encoder> create(Coding coding, std::optional<int> level = {});
    Encoder(Encoder&&) noexcept;
    Encoder& operator=(Encoder&&) noexcept;
    ~Encoder();

    struct Step {
        std::size_t used = 0;
        std::size_t made = 0;
        bool done = false;  // all bytes were used, and `until` was reached
    };
    // Call it again with the rest of the bytes and the same `until`, until it is done.
    Result<Step> encode(Bytes bytes, ByteSpace space, Until until);

    class Engine;

private:
    explicit Encoder(std::unique_ptr<Engine> engine);

    std::unique_ptr<Engine> engine_;
};

}  // namespace weft::http::wire
