#include "weft/http/middleware/compress.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/turn.h"
#include "weft/http/middleware/internal/vary.h"
#include "weft/http/request.h"
#include "weft/http/wire/characters.h"

namespace weft::http {
namespace {

using wire::Coding;
using wire::Encoder;
using wire::Until;

// A text up to this size is compressed as a whole, so that its size is known and it is sent in one
// piece.
constexpr std::size_t kAtOnceBytesMax = 64 * 1024;
// How much an encoder is given at a time; other fibers may run in between.
constexpr std::size_t kPieceBytes = 16 * 1024;
constexpr std::size_t kOutputBytes = 16 * 1024;

// Encodes all bytes until `until` is reached, and gives the output to sink(Bytes).
template <class Sink>
Result<void> encode(Encoder& encoder, Bytes bytes, Until until, ByteSpace space, Sink sink) {
    WEFT_ASSERT(space.size() >= Encoder::kSpaceBytesMin, "the encoder could not go on");
    for (;;) {
        Bytes piece = bytes.first(std::min(bytes.size(), kPieceBytes));
        Until now = piece.size() == bytes.size() ? until : Until::Convenient;
        Encoder::Step step = WEFT_TRY(encoder.encode(piece, space, now));
        WEFT_ASSERT(step.used <= piece.size() && step.made <= space.size());
        if (step.made > 0) WEFT_TRY(sink(Bytes(space.first(step.made))));
        bytes = bytes.subspan(step.used);
        if (step.done && bytes.empty() && now == until) return {};
        // Compressing a piece takes far longer than copying it: count it as a costly operation.
        turn::may_wait("compress", &encoder, turn::cost_of(kPieceBytes));
    }
}

// Compresses what a producer writes, and passes it to the writer of the connection.
class CompressingWriter final : public BodyWriter {
public:
    CompressingWriter(Encoder encoder, BodyWriter& inner)
        : encoder_(std::move(encoder)), inner_(inner), space_(kOutputBytes) {}

    using BodyWriter::write;
    Result<void> write(Bytes bytes) override { return pass(bytes, Until::Convenient); }
    Result<void> flush() override {
        WEFT_TRY(pass({}, Until::Flushed));
        return inner_.flush();
    }
    Headers& trailers() override { return inner_.trailers(); }
    Result<void> finish() { return pass({}, Until::Finished); }

private:
    Result<void> pass(Bytes bytes, Until until) {
        return encode(encoder_, bytes, until, space_,
                      [this](Bytes made) { return inner_.write(made); });
    }

    Encoder encoder_;
    BodyWriter& inner_;
    std::vector<std::byte> space_;
};

Result<void> write_file(const Body::FilePart& part, BodyWriter& writer) {
    std::vector<std::byte> buffer(std::min<std::uint64_t>(part.count, kPieceBytes));
    for (std::uint64_t at = 0; at < part.count;) {
        ByteSpace space(buffer.data(), std::min<std::uint64_t>(part.count - at, buffer.size()));
        std::size_t count = WEFT_TRY(part.file->read_at(part.offset + at, space));
        if (count == 0) return Error(ErrorKind::Closed, "the file ends too early");
        WEFT_ASSERT(count <= space.size(), "a read fills its space at most");
        WEFT_TRY(writer.write(Bytes(space.first(count))));
        at += count;
    }
    return {};
}

Result<void> write_plain(Body& body, BodyWriter& writer) {
    if (auto text = body.text()) return writer.write(*text);
    if (const Body::FilePart* part = body.as_file()) return write_file(*part, writer);
    return body.as_produced()->producer(writer);
}

Body compressed_stream(Encoder encoder, Body body) {
    return Body::produced([encoder = std::move(encoder),
                           body = std::move(body)](BodyWriter& writer) mutable -> Result<void> {
        CompressingWriter compressing(std::move(encoder), writer);
        // After an error the stream is not ended: the client sees that it was cut off.
        WEFT_TRY(write_plain(body, compressing));
        return compressing.finish();
    });
}

Result<std::string> compressed_text(Encoder& encoder, std::string_view text) {
    std::array<std::byte, 4096> space;
    std::string made;
    WEFT_TRY(encode(encoder, as_bytes(text), Until::Finished, space, [&](Bytes part) {
        made += as_text(part);
        return Result<void>();
    }));
    return made;
}

bool has_content(const Request& request, const Response& response) {
    return response.status >= 200 && response.status != 204 && response.status != 205 &&
           response.status != 206 && response.status != 304 && !response.upgrade &&
           request.method() != "CONNECT";
}

// Whether a field describes the exact bytes, or forbids to change them.
bool describes_exact_bytes(const Headers& headers) {
    constexpr std::array kFields{"content-encoding", "content-range",  "content-md5",
                                 "digest",           "content-digest", "repr-digest"};
    return std::ranges::any_of(kFields, [&](const char* name) { return headers.has(name); }) ||
           headers.has_token("cache-control", "no-transform");
}

// RFC 9110 §8.8.3.3: a strong ETag stands for one sequence of bytes, and compression changes them.
void weaken_etag(Headers& headers) {
    std::optional<std::string_view> etag = headers.get("etag");
    if (!etag || etag->starts_with("W/")) return;
    headers.set("ETag", "W/" + std::string(*etag));
}

class Compressor {
public:
    explicit Compressor(CompressOptions options) : options_(std::move(options)) {}

    Response apply(const Request& request, Response response) const {
        if (!should_compress(request, response)) return response;
        add_vary(response.headers, "Accept-Encoding");
        Coding coding = choose(request);
        if (coding == Coding::Identity) return response;
        // The content is not sent, and its length may be omitted (RFC 9110 §9.3.2).
        if (request.method() == "HEAD") {
            response.body = Body::produced([](BodyWriter&) { return Result<void>(); });
            set_coding_fields(response, coding);
            return response;
        }
        Result<Encoder> encoder = Encoder::create(coding);
        // Without memory for an encoder the response is sent uncompressed.
        if (!encoder) return response;
        auto text = response.body.text();
        if (!text || text->size() > kAtOnceBytesMax) {
            response.body = compressed_stream(std::move(*encoder), std::move(response.body));
            set_coding_fields(response, coding);
            return response;
        }
        Result<std::string> made = compressed_text(*encoder, *text);
        if (!made || made->size() >= text->size()) return response;
        response.body = Body(std::move(*made));
        set_coding_fields(response, coding);
        return response;
    }

private:
    bool should_compress(const Request& request, const Response& response) const {
        if (!has_content(request, response) || describes_exact_bytes(response.headers))
            return false;
        if (response.body.size().value_or(options_.bytes_min) < options_.bytes_min) return false;
        auto type = response.headers.get("content-type");
        return type && is_listed_type(*type, options_.types);
    }

    Coding choose(const Request& request) const {
        if (!request.header("accept-encoding")) return Coding::Identity;
        std::string accepted = request.headers().joined("accept-encoding");
        return wire::choose_coding(accepted, options_.codings).value_or(Coding::Identity);
    }

    static void set_coding_fields(Response& response, Coding coding) {
        WEFT_ASSERT(coding != Coding::Identity, "the response was not compressed");
        WEFT_DASSERT(!response.headers.has("content-encoding"), "see describes_exact_bytes()");
        response.headers.set("Content-Encoding", to_string(coding));
        response.headers.remove("accept-ranges");
        weaken_etag(response.headers);
    }

    const CompressOptions options_;
};

}  // namespace

bool is_listed_type(std::string_view content_type, const std::vector<std::string>& types) {
    std::string_view type = wire::trim_blanks(content_type.substr(0, content_type.find(';')));
    auto ends_with = [&](std::string_view end) {
        return type.size() > end.size() &&
               equal_without_case(type.substr(type.size() - end.size()), end);
    };
    return std::ranges::any_of(types, [&](std::string_view listed) {
        if (listed.starts_with('*')) return ends_with(listed.substr(1));
        if (!listed.ends_with('*')) return equal_without_case(type, listed);
        std::string_view begin = listed.substr(0, listed.size() - 1);
        return type.size() > begin.size() &&
               equal_without_case(type.substr(0, begin.size()), begin);
    });
}

Middleware compress(CompressOptions options) {
    // Shared by the handlers that it wraps.
    auto shared = std::make_shared<const Compressor>(std::move(options));
    return [shared](Handler next) -> Handler {
        return [shared, next = std::move(next)](Request& request,
                                                async::Context& context) -> Result<Response> {
            Response response = WEFT_TRY(next(request, context));
            return shared->apply(request, std::move(response));
        };
    };
}

}  // namespace weft::http
