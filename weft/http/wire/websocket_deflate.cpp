#include "weft/http/wire/websocket_deflate.h"

#include <zlib.h>

#include <algorithm>

#include "weft/base/assert.h"

namespace weft::http::wire::websocket {
namespace {

// RFC 7692 §7.2.1: these bytes, with which a flush ends, are not sent.
constexpr std::string_view kTail("\0\0\xff\xff", 4);
constexpr std::size_t kStepBytes = 16 * 1024;
constexpr int kMemoryLevel = 8;

Bytef* writable(const std::byte* bytes) {
    return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));
}

// zlib cannot make a raw stream with a window of 8 bits. One of 9 bits does as well: it refers back
// by at most 2^9 - 262 bytes (MIN_LOOKAHEAD of zlib), which is within 2^8 bytes.
int raw_deflate_bits(std::uint8_t window_bits) { return -std::max<int>(window_bits, 9); }

}  // namespace

void Compressor::Closer::operator()(z_stream_s* stream) const {
    deflateEnd(stream);
    std::default_delete<z_stream_s>()(stream);
}

Result<void> Compressor::compress(Bytes message, std::string& out) {
    // RFC 7692 §7.2.3.6. zlib flushes nothing when there is nothing new to flush.
    if (message.empty()) {
        out += '\0';
        return {};
    }
    if (!stream_) {
        auto stream = std::make_unique<z_stream_s>();
        int status = deflateInit2(stream.get(), level_, Z_DEFLATED, raw_deflate_bits(window_bits_),
                                  kMemoryLevel, Z_DEFAULT_STRATEGY);
        if (status != Z_OK) return ErrorKind::OutOfMemory;
        stream_.reset(stream.release());
    } else if (context_ == Context::Drop) {
        deflateReset(stream_.get());
    }
    WEFT_ASSERT(message.size() <= UINT32_MAX, "a message is in memory, and far smaller");
    stream_->next_in = writable(message.data());
    stream_->avail_in = static_cast<uInt>(message.size());
    // Mostly enough for all. A flush that fills the space to the last byte is followed by another
    // one, which adds an empty block and does no harm.
    std::size_t step = deflateBound(stream_.get(), message.size()) + 16;
    do {
        std::size_t size = out.size();
        // NB: GCC 12 tells the operation the new capacity, and not the size that was asked for.
        out.resize_and_overwrite(size + step, [&](char* text, std::size_t) {
            stream_->next_out = reinterpret_cast<Bytef*>(text + size);
            stream_->avail_out = static_cast<uInt>(step);
            deflate(stream_.get(), Z_SYNC_FLUSH);
            return size + step - stream_->avail_out;
        });
    } while (stream_->avail_out == 0);
    WEFT_ASSERT(stream_->avail_in == 0 && out.ends_with(kTail));
    out.resize(out.size() - kTail.size());
    return {};
}

void Decompressor::Closer::operator()(z_stream_s* stream) const {
    inflateEnd(stream);
    std::default_delete<z_stream_s>()(stream);
}

Result<void> Decompressor::add(Bytes part, std::string& out, std::size_t bytes_max) {
    if (!stream_) {
        auto stream = std::make_unique<z_stream_s>();
        int status = inflateInit2(stream.get(), -window_bits_);
        if (status != Z_OK) return ErrorKind::OutOfMemory;
        stream_.reset(stream.release());
    }
    WEFT_ASSERT(out.size() <= bytes_max, "what was decompressed before is within the limit");
    WEFT_ASSERT(part.size() <= UINT32_MAX, "a part is in memory, and far smaller");
    stream_->next_in = writable(part.data());
    stream_->avail_in = static_cast<uInt>(part.size());
    do {
        // Room for one byte more than allowed is enough to see that there is more.
        std::size_t size = out.size();
        std::size_t step = std::min(kStepBytes - 1, bytes_max - size) + 1;
        int status = Z_OK;
        out.resize_and_overwrite(size + step, [&](char* text, std::size_t) {
            stream_->next_out = reinterpret_cast<Bytef*>(text + size);
            stream_->avail_out = static_cast<uInt>(step);
            status = inflate(stream_.get(), Z_SYNC_FLUSH);
            return size + step - stream_->avail_out;
        });
        if (out.size() > bytes_max)
            return Error::limit("a message has more bytes than", bytes_max,
                                "Limits::message_bytes");
        if (status == Z_STREAM_END) {
            // RFC 7692 §7.2.3.4: a block may be marked as the last although it is not; the next one
            // may still refer to content before it.
            inflateResetKeep(stream_.get());
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            return Error(ErrorKind::Other, "the compressed message is corrupt");
        }
    } while (stream_->avail_in != 0 || stream_->avail_out == 0);
    return {};
}

Result<void> Decompressor::finish(std::string& out, std::size_t bytes_max) {
    WEFT_TRY(add(as_bytes(kTail), out, bytes_max));
    // zlib's data_type: 128 between two blocks, and in the low bits the number of unused bits. In
    // any other state the tail was taken for content, and so would be the next message.
    if ((stream_->data_type & (128 | 7)) != 128) {
        return Error(ErrorKind::Other, "the compressed message is cut off");
    }
    if (context_ == Context::Drop) inflateReset(stream_.get());
    return {};
}

}  // namespace weft::http::wire::websocket
