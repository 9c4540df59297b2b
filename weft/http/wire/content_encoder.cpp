#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/http/wire/content_coding.h"

namespace weft::http::wire {

class Encoder::Engine {
public:
    virtual ~Engine() = default;
    virtual Result<Step> encode(Bytes bytes, ByteSpace space, Until until) = 0;
};

namespace {

Result<int> check_level(std::optional<int> level, int usual, int least, int most) {
    if (!level) return usual;
    if (*level < least || *level > most) {
        return Error(ErrorKind::Misuse, "the coding has no such level");
    }
    return *level;
}

class IdentityEncoder final : public Encoder::Engine {
public:
    Result<Encoder::Step> encode(Bytes bytes, ByteSpace space, Until) override {
        std::size_t count = std::min(bytes.size(), space.size());
        std::ranges::copy(bytes.first(count), space.begin());
        return Encoder::Step{.used = count, .made = count, .done = count == bytes.size()};
    }
};

// Gzip and deflate.
class DeflateEncoder final : public Encoder::Engine {
public:
    DeflateEncoder() = default;
    DeflateEncoder(const DeflateEncoder&) = delete;
    DeflateEncoder& operator=(const DeflateEncoder&) = delete;
    ~DeflateEncoder() override { deflateEnd(&stream_); }

    Result<void> open(Coding coding, std::optional<int> level) {
        int checked = WEFT_TRY(check_level(level, kLevel, 1, 9));
        int window_bits = coding == Coding::Gzip ? MAX_WBITS + 16 : MAX_WBITS;
        int status = deflateInit2(&stream_, checked, Z_DEFLATED, window_bits, kMemoryLevel,
                                  Z_DEFAULT_STRATEGY);
        if (status != Z_OK) return ErrorKind::OutOfMemory;
        return {};
    }

    Result<Encoder::Step> encode(Bytes bytes, ByteSpace space, Until until) override {
        auto bytes_in = static_cast<uInt>(std::min(bytes.size(), kStepBytesMax));
        auto bytes_out = static_cast<uInt>(std::min(space.size(), kStepBytesMax));
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
        stream_.avail_in = bytes_in;
        stream_.next_out = reinterpret_cast<Bytef*>(space.data());
        stream_.avail_out = bytes_out;
        int flush = bytes_in < bytes.size()      ? Z_NO_FLUSH
                    : until == Until::Convenient ? Z_NO_FLUSH
                    : until == Until::Flushed    ? Z_SYNC_FLUSH
                                                 : Z_FINISH;
        int status = deflate(&stream_, flush);
        // Z_BUF_ERROR with nothing to do, such as a second flush, is no error.
        bool refused = status == Z_BUF_ERROR && stream_.avail_in != 0 && stream_.avail_out != 0;
        if (status == Z_STREAM_ERROR || refused) {
            return Error(ErrorKind::Misuse, "bytes for a stream that has ended");
        }
        Encoder::Step step{.used = bytes_in - stream_.avail_in,
                           .made = bytes_out - stream_.avail_out};
        step.done = step.used == bytes.size() &&
                    (until == Until::Finished ? status == Z_STREAM_END : stream_.avail_out != 0);
        return step;
    }

private:
    static constexpr int kLevel = 6;
    static constexpr int kMemoryLevel = 8;
    static constexpr std::size_t kStepBytesMax = std::size_t{1} << 30;  // zlib counts in 32 bits

    z_stream stream_{};
};

class BrotliEncoder final : public Encoder::Engine {
public:
    BrotliEncoder() : state_(BrotliEncoderCreateInstance(nullptr, nullptr, nullptr)) {}
    BrotliEncoder(const BrotliEncoder&) = delete;
    BrotliEncoder& operator=(const BrotliEncoder&) = delete;
    ~BrotliEncoder() override { BrotliEncoderDestroyInstance(state_); }

    Result<void> open(std::optional<int> level) {
        int checked = WEFT_TRY(check_level(level, kLevel, BROTLI_MIN_QUALITY, BROTLI_MAX_QUALITY));
        if (!state_) return ErrorKind::OutOfMemory;
        BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY,
                                  static_cast<std::uint32_t>(checked));
        BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, kWindowLog);
        return {};
    }

    Result<Encoder::Step> encode(Bytes bytes, ByteSpace space, Until until) override {
        auto operation = until == Until::Convenient ? BROTLI_OPERATION_PROCESS
                         : until == Until::Flushed  ? BROTLI_OPERATION_FLUSH
                                                    : BROTLI_OPERATION_FINISH;
        auto* next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
        auto* next_out = reinterpret_cast<std::uint8_t*>(space.data());
        std::size_t left_in = bytes.size();
        std::size_t left_out = space.size();
        if (!BrotliEncoderCompressStream(state_, operation, &left_in, &next_in, &left_out,
                                         &next_out, nullptr)) {
            return Error(ErrorKind::Misuse, "bytes for a stream that has ended");
        }
        bool reached = until == Until::Finished ? BrotliEncoderIsFinished(state_) != 0
                                                : BrotliEncoderHasMoreOutput(state_) == 0;
        return Encoder::Step{.used = bytes.size() - left_in,
                             .made = space.size() - left_out,
                             .done = left_in == 0 && reached};
    }

private:
    static constexpr int kLevel = 4;
    static constexpr std::uint32_t kWindowLog = 19;  // 512 KiB, which every response allocates

    BrotliEncoderState* state_;
};

class ZstdEncoder final : public Encoder::Engine {
public:
    ZstdEncoder() : context_(ZSTD_createCCtx()) {}
    ZstdEncoder(const ZstdEncoder&) = delete;
    ZstdEncoder& operator=(const ZstdEncoder&) = delete;
    ~ZstdEncoder() override { ZSTD_freeCCtx(context_); }

    Result<void> open(std::optional<int> level) {
        int checked = WEFT_TRY(check_level(level, kLevel, 1, kLevelMax));
        if (!context_) return ErrorKind::OutOfMemory;
        ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, checked);
        ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
        return {};
    }

    Result<Encoder::Step> encode(Bytes bytes, ByteSpace space, Until until) override {
        // libzstd would begin another frame.
        if (finished_ && !bytes.empty()) {
            return Error(ErrorKind::Misuse, "bytes for a stream that has ended");
        }
        if (finished_) return Encoder::Step{.done = true};
        auto operation = until == Until::Convenient ? ZSTD_e_continue
                         : until == Until::Flushed  ? ZSTD_e_flush
                                                    : ZSTD_e_end;
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        ZSTD_outBuffer out{space.data(), space.size(), 0};
        std::size_t left = ZSTD_compressStream2(context_, &out, &in, operation);
        if (ZSTD_isError(left)) return Error(ErrorKind::Other, ZSTD_getErrorName(left));
        bool reached = until == Until::Convenient ? out.pos < out.size : left == 0;
        Encoder::Step step{.used = in.pos, .made = out.pos, .done = in.pos == in.size && reached};
        finished_ = step.done && until == Until::Finished;
        return step;
    }

private:
    static constexpr int kLevel = 3;
    static constexpr int kLevelMax = 19;  // the last whose window is 8 MiB (RFC 9659 §3)

    ZSTD_CCtx* context_;
    bool finished_ = false;
};

template <class Opened, class... Arguments>
Result<std::unique_ptr<Encoder::Engine>> open_engine(Arguments... arguments) {
    auto engine = std::make_unique<Opened>();
    WEFT_TRY(engine->open(arguments...));
    return std::unique_ptr<Encoder::Engine>(std::move(engine));
}

Result<std::unique_ptr<Encoder::Engine>> make_engine(Coding coding, std::optional<int> level) {
    switch (coding) {
    case Coding::Identity: return std::make_unique<IdentityEncoder>();
    case Coding::Gzip:
    case Coding::Deflate: return open_engine<DeflateEncoder>(coding, level);
    case Coding::Brotli: return open_engine<BrotliEncoder>(level);
    case Coding::Zstd: return open_engine<ZstdEncoder>(level);
    }
    WEFT_UNREACHABLE();
}

}  // namespace

Encoder::Encoder(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

Result<Encoder> Encoder::create(Coding coding, std::optional<int> level) {
    auto engine = WEFT_TRY(make_engine(coding, level));
    return Encoder(std::move(engine));
}

Result<Encoder::Step> Encoder::encode(Bytes bytes, ByteSpace space, Until until) {
    WEFT_ASSERT(space.size() >= kSpaceBytesMin);
    WEFT_ASSERT(engine_, "an encoder that was moved is not used");
    Result<Step> step = engine_->encode(bytes, space, until);
    WEFT_ASSERT(!step || (step->used <= bytes.size() && step->made <= space.size()));
    WEFT_ASSERT(!step || !step->done || step->used == bytes.size(), "done: all bytes were used");
    return step;
}

}  // namespace weft::http::wire
