#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/http/wire/content_coding.h"

namespace weft::http::wire {

// Decodes one coding, without limits on the content.
class Decoder::Engine {
public:
    virtual ~Engine() = default;
    // Removes from `bytes` what it uses and from `space` what it fills, until one of them is empty.
    virtual Result<void> decode(Bytes& bytes, ByteSpace& space) = 0;
    // Whether the stream may end here.
    virtual bool is_complete() const = 0;
};

namespace {

Error corrupt(Coding coding, std::string_view why) {
    std::string message = "corrupt ";
    message += to_string(coding);
    message += " content: ";
    message += why;
    return Error(ErrorKind::Other, message);
}

class IdentityDecoder final : public Decoder::Engine {
public:
    Result<void> decode(Bytes& bytes, ByteSpace& space) override {
        std::size_t count = std::min(bytes.size(), space.size());
        std::ranges::copy(bytes.first(count), space.begin());
        bytes = bytes.subspan(count);
        space = space.subspan(count);
        return {};
    }
    bool is_complete() const override { return true; }
};

// Gzip and deflate.
class InflateDecoder final : public Decoder::Engine {
public:
    explicit InflateDecoder(Coding coding) : coding_(coding) {}
    InflateDecoder(const InflateDecoder&) = delete;
    InflateDecoder& operator=(const InflateDecoder&) = delete;
    ~InflateDecoder() override { inflateEnd(&stream_); }

    Result<void> open() {
        int window_bits = coding_ == Coding::Gzip ? kGzipWindow : kZlibWindow;
        if (inflateInit2(&stream_, window_bits) != Z_OK) return ErrorKind::OutOfMemory;
        return {};
    }

    Result<void> decode(Bytes& bytes, ByteSpace& space) override {
        for (;;) {
            if (state_ != State::Inside) {
                if (bytes.empty()) return {};
                WEFT_TRY(begin(bytes.front()));
            }
            std::size_t left = bytes.size() + space.size();
            int status = inflate_some(bytes, space);
            if (status == Z_STREAM_END) {
                state_ = State::Ended;
            } else if (status == Z_MEM_ERROR) {
                return ErrorKind::OutOfMemory;
            } else if (status == Z_NEED_DICT) {
                return corrupt(coding_, "needs a dictionary");
            } else if (status != Z_OK && status != Z_BUF_ERROR) {
                return corrupt(coding_, stream_.msg ? stream_.msg : "not readable");
            } else if (bytes.size() + space.size() == left) {
                return {};
            }
        }
    }
    bool is_complete() const override { return state_ == State::Ended; }

private:
    enum class State : std::uint8_t { New, Inside, Ended };
    static constexpr int kZlibWindow = MAX_WBITS;
    static constexpr int kRawWindow = -MAX_WBITS;
    static constexpr int kGzipWindow = MAX_WBITS + 16;

    Result<void> begin(std::byte first) {
        if (state_ == State::Ended) {
            if (coding_ != Coding::Gzip) return corrupt(coding_, "bytes behind its end");
            inflateReset(&stream_);  // RFC 1952 §2.2: members follow one another
        } else if (coding_ == Coding::Deflate && !begins_zlib(first)) {
            inflateReset2(&stream_, kRawWindow);
        }
        state_ = State::Inside;
        return {};
    }
    // RFC 9110 §8.4.1.2: deflate comes in zlib's wrapper, but some servers send it without. The
    // first byte of a wrapper (RFC 1950 §2.2) would without it begin a stored block whose padding
    // is not zero, which no encoder writes.
    static bool begins_zlib(std::byte first) {
        auto value = std::to_integer<unsigned>(first);
        return (value & 0x0f) == Z_DEFLATED && (value >> 4) + 8 <= MAX_WBITS;
    }
    int inflate_some(Bytes& bytes, ByteSpace& space) {
        auto bytes_in = static_cast<uInt>(std::min(bytes.size(), kStepBytesMax));
        auto bytes_out = static_cast<uInt>(std::min(space.size(), kStepBytesMax));
        std::byte nowhere{};  // zlib refuses a null pointer, also to an empty space
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
        stream_.avail_in = bytes_in;
        stream_.next_out = reinterpret_cast<Bytef*>(space.empty() ? &nowhere : space.data());
        stream_.avail_out = bytes_out;
        int status = inflate(&stream_, Z_NO_FLUSH);
        bytes = bytes.subspan(bytes_in - stream_.avail_in);
        space = space.subspan(bytes_out - stream_.avail_out);
        return status;
    }
    static constexpr std::size_t kStepBytesMax = std::size_t{1} << 30;  // zlib counts in 32 bits

    z_stream stream_{};
    Coding coding_;
    State state_ = State::New;
};

class BrotliDecoder final : public Decoder::Engine {
public:
    // Large windows (beyond RFC 7932) are off unless asked for.
    BrotliDecoder() : state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {}
    BrotliDecoder(const BrotliDecoder&) = delete;
    BrotliDecoder& operator=(const BrotliDecoder&) = delete;
    ~BrotliDecoder() override { BrotliDecoderDestroyInstance(state_); }

    Result<void> open() {
        if (!state_) return ErrorKind::OutOfMemory;
        return {};
    }

    Result<void> decode(Bytes& bytes, ByteSpace& space) override {
        if (!ended_) WEFT_TRY(decode_some(bytes, space));
        if (ended_ && !bytes.empty()) return corrupt(Coding::Brotli, "bytes behind its end");
        return {};
    }
    bool is_complete() const override { return ended_; }

private:
    Result<void> decode_some(Bytes& bytes, ByteSpace& space) {
        auto* next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
        auto* next_out = reinterpret_cast<std::uint8_t*>(space.data());
        std::size_t left_in = bytes.size();
        std::size_t left_out = space.size();
        auto result = BrotliDecoderDecompressStream(state_, &left_in, &next_in, &left_out,
                                                    &next_out, nullptr);
        bytes = bytes.last(left_in);
        space = space.last(left_out);
        ended_ = result == BROTLI_DECODER_RESULT_SUCCESS;
        if (result != BROTLI_DECODER_RESULT_ERROR) return {};
        BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state_);
        bool no_memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                         code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
        if (no_memory) return ErrorKind::OutOfMemory;
        return corrupt(Coding::Brotli, BrotliDecoderErrorString(code));
    }

    BrotliDecoderState* state_;
    bool ended_ = false;
};

class ZstdDecoder final : public Decoder::Engine {
public:
    ZstdDecoder() : context_(ZSTD_createDCtx()) {}
    ZstdDecoder(const ZstdDecoder&) = delete;
    ZstdDecoder& operator=(const ZstdDecoder&) = delete;
    ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

    Result<void> open() {
        if (!context_) return ErrorKind::OutOfMemory;
        ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kWindowLogMax);
        return {};
    }

    Result<void> decode(Bytes& bytes, ByteSpace& space) override {
        // libzstd fails a stream after several calls that could not make progress.
        while (!bytes.empty() || (filled_ && !space.empty())) {
            if (magic_bytes_ < kMagic.size()) WEFT_TRY(check_magic(bytes));
            ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
            ZSTD_outBuffer out{space.data(), space.size(), 0};
            std::size_t status = ZSTD_decompressStream(context_, &out, &in);
            bytes = bytes.subspan(in.pos);
            space = space.subspan(out.pos);
            if (ZSTD_isError(status)) return failed(status);
            ended_ = status == 0;
            if (ended_) magic_bytes_ = 0;  // RFC 8878 §3: frames follow one another
            filled_ = space.empty() && !ended_;
            if (filled_) return {};
        }
        return {};
    }
    bool is_complete() const override { return ended_; }

private:
    static constexpr int kWindowLogMax = 23;  // RFC 9659 §3: 8 MiB
    static constexpr std::array<std::uint8_t, 4> kMagic = {0x28, 0xb5, 0x2f, 0xfd};
    static constexpr std::array<std::uint8_t, 4> kSkippable = {0x50, 0x2a, 0x4d, 0x18};

    // libzstd also reads formats of its older versions, which are not part of the coding.
    Result<void> check_magic(Bytes bytes) {
        for (; magic_bytes_ < kMagic.size() && !bytes.empty(); ++magic_bytes_) {
            auto value = std::to_integer<std::uint8_t>(bytes.front());
            bytes = bytes.subspan(1);
            if (magic_bytes_ == 0) {
                skippable_ = (value & 0xf0) == kSkippable[0];
                if (skippable_) continue;
            }
            if (value == (skippable_ ? kSkippable : kMagic)[magic_bytes_]) continue;
            return corrupt(Coding::Zstd, ended_ ? "bytes behind its end" : "not a frame");
        }
        return {};
    }
    static Error failed(std::size_t status) {
        switch (ZSTD_getErrorCode(status)) {
        case ZSTD_error_frameParameter_windowTooLarge:
            return Error::limit("zstd content asks for a window of more bytes than",
                                1U << kWindowLogMax, "RFC 9659 §3");
        case ZSTD_error_memory_allocation: return ErrorKind::OutOfMemory;
        default: return corrupt(Coding::Zstd, ZSTD_getErrorName(status));
        }
    }

    ZSTD_DCtx* context_;
    bool ended_ = false;
    bool filled_ = false;  // the last space was filled; there may be more content
    bool skippable_ = false;
    std::uint8_t magic_bytes_ = 0;  // of the frame's magic number that have come
};

template <class Opened, class... Arguments>
Result<std::unique_ptr<Decoder::Engine>> open_engine(Arguments... arguments) {
    auto engine = std::make_unique<Opened>(arguments...);
    WEFT_TRY(engine->open());
    return std::unique_ptr<Decoder::Engine>(std::move(engine));
}

Result<std::unique_ptr<Decoder::Engine>> make_engine(Coding coding) {
    switch (coding) {
    case Coding::Identity: return std::make_unique<IdentityDecoder>();
    case Coding::Gzip:
    case Coding::Deflate: return open_engine<InflateDecoder>(coding);
    case Coding::Brotli: return open_engine<BrotliDecoder>();
    case Coding::Zstd: return open_engine<ZstdDecoder>();
    }
    WEFT_UNREACHABLE();
}

}  // namespace

Decoder::Decoder(std::unique_ptr<Engine> engine, const DecoderLimits& limits)
    : engine_(std::move(engine)), limits_(limits) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<Decoder> Decoder::create(Coding coding, const DecoderLimits& limits) {
    auto engine = WEFT_TRY(make_engine(coding));
    return Decoder(std::move(engine), limits);
}

Result<Decoder::Step> Decoder::decode(Bytes bytes, ByteSpace space) {
    WEFT_ASSERT(engine_, "a decoder that was moved is not used");
    // Room for one byte more than allowed is enough to see that there is more.
    std::uint64_t allowed = limits_.content_bytes - made_;
    if (space.size() > allowed) space = space.first(static_cast<std::size_t>(allowed) + 1);
    Bytes bytes_left = bytes;
    ByteSpace space_left = space;
    WEFT_TRY(engine_->decode(bytes_left, space_left));
    WEFT_ASSERT(bytes_left.size() <= bytes.size() && space_left.size() <= space.size());
    Step step{.used = bytes.size() - bytes_left.size(), .made = space.size() - space_left.size()};
    used_ += step.used;
    made_ += step.made;
    if (made_ > limits_.content_bytes) {
        return Error::limit("the decoded content has more bytes than", limits_.content_bytes,
                            "DecoderLimits::content_bytes");
    }
    // A division, because the product could overflow.
    bool is_bomb = limits_.ratio == 0 || made_ / limits_.ratio > used_;
    if (made_ > limits_.ratio_from_bytes && is_bomb) {
        return Error::limit("the content is compressed by more than the factor", limits_.ratio,
                            "DecoderLimits::ratio");
    }
    return step;
}

Result<void> Decoder::finish() const {
    WEFT_ASSERT(engine_, "a decoder that was moved is not used");
    if (used_ == 0 || engine_->is_complete()) return {};
    return Error(ErrorKind::Other, "the encoded content is cut off");
}

}  // namespace weft::http::wire
