// The compression of WebSocket messages (RFC 7692 §7.2). Used by websocket.h.
//
// Each is for one direction of one connection, and is owned by one fiber at a time. The memory of
// zlib is allocated with the first message: up to 256 KiB to compress, 40 KiB to decompress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/result.h"

struct z_stream_s;

namespace weft::http::wire::websocket {

// Whether a message may refer to the ones before it.
enum class Context : bool { Keep, Drop };

class Compressor {
public:
    // `level` is that of zlib, 1 to 9.
    Compressor(Context context, std::uint8_t window_bits, int level)
        : context_(context), window_bits_(window_bits), level_(level) {}

    // Appends the payload for the message.
    Result<void> compress(Bytes message, std::string& out);

private:
    struct Closer {
        void operator()(z_stream_s* stream) const;
    };
    std::unique_ptr<z_stream_s, Closer> stream_;
    Context context_;
    std::uint8_t window_bits_;
    int level_;
};

class Decompressor {
public:
    Decompressor(Context context, std::uint8_t window_bits)
        : context_(context), window_bits_(window_bits) {}

    // Appends the content of the next part of a payload; Limit when `out` would become larger than
    // `bytes_max`, Other if it is corrupt. `out` is not larger than that before.
    Result<void> add(Bytes part, std::string& out, std::size_t bytes_max);
    // The same at the end of the payload. The next part is of the next message.
    Result<void> finish(std::string& out, std::size_t bytes_max);

private:
    struct Closer {
        void operator()(z_stream_s* stream) const;
    };
    std::unique_ptr<z_stream_s, Closer> stream_;
    Context context_;
    std::uint8_t window_bits_;
};

}  // namespace weft::http::wire::websocket
