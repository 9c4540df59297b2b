// The codecs behind CompressionStream and DecompressionStream. https://compression.spec.whatwg.org/
//
// A codec is owned by an ArrayBuffer that scripts never see, so the garbage collector frees the
// codec together with its stream.
#include "weft/api/streams/compression.h"

#include <brotli/decode.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/http/wire/content_coding.h"

namespace weft::api {
namespace {

using http::wire::Coding;
using http::wire::Until;
using Output = std::vector<std::byte>;

constexpr std::size_t kSpaceBytes = std::size_t{64} * 1024;
// Limit on the output of one chunk: a few kilobytes of malicious input must not fill the memory.
constexpr std::size_t kOutputBytesMax = std::size_t{256} * 1024 * 1024;

enum class Mode : std::uint8_t { Compress, Decompress };

class Codec {
public:
    virtual ~Codec() = default;
    // Limit on the output of one push().
    std::size_t output_bytes_max = kOutputBytesMax;
    // Appends to the output. Returns the error message, or nothing.
    virtual std::optional<std::string> push(Bytes bytes, Output& output) = 0;
    virtual std::optional<std::string> finish(Output& output) = 0;
    // Bytes followed the end of the stream. Everything before them was output.
    virtual bool has_junk() const { return false; }
};

// gzip, deflate (with the zlib header), automatic detection of these two, and deflate-raw, selected
// by the window bits of zlib.
class ZlibCodec final : public Codec {
public:
    ZlibCodec(Mode mode, int window_bits) : mode_(mode) {
        constexpr int kMemoryLevel = 8;  // zlib's default
        int begun = mode == Mode::Compress
                        ? deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits,
                                       kMemoryLevel, Z_DEFAULT_STRATEGY)
                        : inflateInit2(&stream_, window_bits);
        begun_ = begun == Z_OK;
    }
    ~ZlibCodec() override {
        if (!begun_) return;
        if (mode_ == Mode::Compress)
            deflateEnd(&stream_);
        else
            inflateEnd(&stream_);
    }
    ZlibCodec(const ZlibCodec&) = delete;
    ZlibCodec& operator=(const ZlibCodec&) = delete;

    std::optional<std::string> push(Bytes bytes, Output& output) override {
        return run(bytes, output, Z_NO_FLUSH);
    }

    std::optional<std::string> finish(Output& output) override {
        if (mode_ == Mode::Compress) return run({}, output, Z_FINISH);
        if (!ended_) return "The compressed data ends too early";
        return {};
    }

    bool has_junk() const override { return junk_; }

private:
    std::optional<std::string> run(Bytes bytes, Output& output, int flush) {
        if (!begun_) return "There is no memory for the codec";
        // zlib only reads through this pointer; its interface is not const-correct.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
        stream_.avail_in = static_cast<uInt>(bytes.size());
        std::array<std::byte, kSpaceBytes> space;
        while (!ended_) {
            stream_.next_out = reinterpret_cast<Bytef*>(space.data());
            stream_.avail_out = static_cast<uInt>(space.size());
            int step =
                mode_ == Mode::Compress ? deflate(&stream_, flush) : inflate(&stream_, Z_NO_FLUSH);
            output.insert(output.end(), space.begin(), space.end() - stream_.avail_out);
            if (step == Z_STREAM_END)
                ended_ = true;
            else if (step == Z_BUF_ERROR)
                return {};  // needs more input
            else if (step != Z_OK)
                return "The compressed data is not valid";
            if (output.size() > output_bytes_max) return "The chunk becomes too large";
            if (stream_.avail_in == 0 && stream_.avail_out != 0 && flush != Z_FINISH) break;
        }
        junk_ = junk_ || (ended_ && mode_ == Mode::Decompress && stream_.avail_in > 0);
        return {};
    }

    Mode mode_;
    z_stream stream_{};
    bool begun_ = false;
    bool ended_ = false;
    bool junk_ = false;
};

class BrotliCompressor final : public Codec {
public:
    explicit BrotliCompressor(http::wire::Encoder encoder) : encoder_(std::move(encoder)) {}

    std::optional<std::string> push(Bytes bytes, Output& output) override {
        return run(bytes, output, Until::Convenient);
    }
    std::optional<std::string> finish(Output& output) override {
        return run({}, output, Until::Finished);
    }

private:
    std::optional<std::string> run(Bytes bytes, Output& output, Until until) {
        std::array<std::byte, kSpaceBytes> space;
        for (;;) {
            auto step = encoder_.encode(bytes, space, until);
            if (!step) return step.error().message();
            bytes = bytes.subspan(step->used);
            output.insert(output.end(), space.begin(),
                          space.begin() + static_cast<std::ptrdiff_t>(step->made));
            if (step->done) return {};
        }
    }

    http::wire::Encoder encoder_;
};

class BrotliDecompressor final : public Codec {
public:
    BrotliDecompressor() : state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {}
    ~BrotliDecompressor() override { BrotliDecoderDestroyInstance(state_); }
    BrotliDecompressor(const BrotliDecompressor&) = delete;
    BrotliDecompressor& operator=(const BrotliDecompressor&) = delete;

    // NB: The decoder of http/wire/ outputs nothing of a chunk in which bytes follow the end.
    std::optional<std::string> push(Bytes bytes, Output& output) override {
        if (!state_) return "There is no memory for the codec";
        std::size_t left = bytes.size();
        const auto* next = reinterpret_cast<const std::uint8_t*>(bytes.data());
        std::array<std::byte, kSpaceBytes> space;
        while (!ended_) {
            std::size_t free = space.size();
            auto* into = reinterpret_cast<std::uint8_t*>(space.data());
            BrotliDecoderResult step =
                BrotliDecoderDecompressStream(state_, &left, &next, &free, &into, nullptr);
            output.insert(output.end(), space.begin(),
                          space.end() - static_cast<std::ptrdiff_t>(free));
            if (step == BROTLI_DECODER_RESULT_ERROR) return "The compressed data is not valid";
            if (output.size() > output_bytes_max) return "The chunk becomes too large";
            ended_ = step == BROTLI_DECODER_RESULT_SUCCESS;
            if (step == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) return {};
        }
        junk_ = junk_ || left > 0;
        return {};
    }

    std::optional<std::string> finish(Output&) override {
        if (!ended_) return "The compressed data ends too early";
        return {};
    }

    bool has_junk() const override { return junk_; }

private:
    BrotliDecoderState* state_;
    bool ended_ = false;
    bool junk_ = false;
};

std::unique_ptr<Codec> make_codec(std::string_view format, Mode mode) {
    constexpr int kWindowBits = 15;
    constexpr int kWithGzipHeader = 16;
    constexpr int kWithAnyHeader = 32;
    if (format == "gzip") return std::make_unique<ZlibCodec>(mode, kWindowBits + kWithGzipHeader);
    if (format == "deflate") return std::make_unique<ZlibCodec>(mode, kWindowBits);
    if (format == "unzip") return std::make_unique<ZlibCodec>(mode, kWindowBits + kWithAnyHeader);
    if (format == "deflate-raw") return std::make_unique<ZlibCodec>(mode, -kWindowBits);
    if (mode == Mode::Compress) {
        auto encoder = http::wire::Encoder::create(Coding::Brotli);
        if (!encoder) return nullptr;
        return std::make_unique<BrotliCompressor>(std::move(*encoder));
    }
    return std::make_unique<BrotliDecompressor>();
}

Codec& codec_of(js::Call& call) {
    return *static_cast<Codec*>(call[0].As<v8::ArrayBuffer>()->GetBackingStore()->Data());
}

}  // namespace

void compression_create(js::Call& call) {
    Mode mode = call.text(1) == "compress" ? Mode::Compress : Mode::Decompress;
    std::unique_ptr<Codec> codec = make_codec(call.text(0), mode);
    if (!codec) return call.throw_error("There is no memory for the codec");
    // The deleter may run on a thread of the garbage collector; a codec is not bound to a thread.
    std::unique_ptr<v8::BackingStore> keeper = v8::ArrayBuffer::NewBackingStore(
        codec.release(), sizeof(ZlibCodec),
        [](void* memory, std::size_t, void*) {
            std::unique_ptr<Codec>(static_cast<Codec*>(memory)).reset();
        },
        nullptr);
    call.give(v8::ArrayBuffer::New(call.v8(), std::move(keeper)));
}

void compression_push(js::Call& call) {
    Output output;
    Codec& codec = codec_of(call);
    if (call[2]->IsNumber()) {
        double most = std::clamp(call.number(2), 0.0, static_cast<double>(kOutputBytesMax));
        codec.output_bytes_max = static_cast<std::size_t>(most);
    }
    if (auto wrong = codec.push(call.bytes(1), output)) return call.throw_type_error(*wrong);
    call.give_bytes(std::move(output));
}

void compression_check(js::Call& call) {
    if (codec_of(call).has_junk())
        call.throw_type_error("There are bytes behind the end of the compressed data");
}

void compression_finish(js::Call& call) {
    Output output;
    if (auto wrong = codec_of(call).finish(output)) return call.throw_type_error(*wrong);
    call.give_bytes(std::move(output));
}

}  // namespace weft::api
