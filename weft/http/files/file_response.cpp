#include "weft/http/files/file_response.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/http/files/conditions.h"
#include "weft/http/files/ranges.h"
#include "weft/http/wire/content_coding.h"

namespace weft::http {
namespace {

// How much of a file is read at a time for a response of several ranges.
constexpr std::size_t kReadBytes = 32 * 1024;

// The resource lives as long as its representation is shared.
using Shared = std::shared_ptr<const Representation>;

Shared choose(const Request& request, std::shared_ptr<const Resource> resource) {
    const std::vector<Representation>& all = resource->representations;
    WEFT_ASSERT(!all.empty() && all.front().coding == wire::Coding::Identity, "see Kind::File");
    const Representation* chosen = &all.front();
    if (all.size() > 1 && request.header("accept-encoding")) {
        std::array<wire::Coding, 8> codings{};
        std::size_t count = std::min(all.size() - 1, codings.size());
        for (std::size_t i = 0; i < count; ++i) codings[i] = all[i + 1].coding;
        // RFC 9110 §12.5.3: a client that refuses every available coding may be sent one anyway.
        std::string accepted = request.headers().joined("accept-encoding");
        wire::Coding best = wire::choose_coding(accepted, std::span(codings).first(count))
                                .value_or(wire::Coding::Identity);
        auto found = std::ranges::find(all, best, &Representation::coding);
        WEFT_ASSERT(found != all.end(), "the best coding is one of those that were offered");
        chosen = &*found;
    }
    return {std::move(resource), chosen};
}

Body body_of(Shared representation, std::uint64_t first, std::uint64_t count) {
    std::uint64_t size = representation->status.size;
    WEFT_ASSERT(first <= size && count <= size - first, "a range lies in the content");
    if (representation->is_in_memory) {
        WEFT_DASSERT(representation->content.size() == size, "the whole content is in memory");
        std::string_view content = representation->content;
        return Body::shared(std::move(representation), content.substr(first, count));
    }
    const File* file = &representation->file;
    return Body::file(std::shared_ptr<const File>(std::move(representation), file), first, count);
}

std::string content_range(const ByteRange& range, std::uint64_t size) {
    WEFT_ASSERT(range.count > 0 && range.first < size, "no Content-Range is empty");
    return format("bytes {}-{}/{}", range.first, range.first + range.count - 1, size);
}

// multipart/byteranges (RFC 9110 §14.6).
class Multipart {
public:
    Multipart(Shared representation, std::vector<ByteRange> ranges, std::string_view content_type)
        : representation_(std::move(representation)),
          ranges_(std::move(ranges)),
          boundary_(format("{:016x}{:016x}", env::random(RandomStream::Secret),
                           env::random(RandomStream::Secret))) {
        WEFT_ASSERT(ranges_.size() > 1, "a single range has no boundary");
        for (const ByteRange& range : ranges_) {
            heads_.push_back(format("\r\n--{}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
                                    boundary_, content_type,
                                    content_range(range, representation_->status.size)));
        }
        end_ = format("\r\n--{}--\r\n", boundary_);
    }

    std::string content_type() const {
        return format("multipart/byteranges; boundary={}", boundary_);
    }
    std::uint64_t size() const {
        WEFT_DASSERT(heads_.size() == ranges_.size(), "each range has a head");
        std::uint64_t sum = end_.size();
        for (std::size_t i = 0; i < ranges_.size(); ++i) sum += heads_[i].size() + ranges_[i].count;
        return sum;
    }
    Result<void> write(BodyWriter& writer) const {
        for (std::size_t i = 0; i < ranges_.size(); ++i) {
            WEFT_TRY(writer.write(heads_[i]));
            WEFT_TRY(write_range(writer, ranges_[i]));
        }
        return writer.write(end_);
    }

private:
    Result<void> write_range(BodyWriter& writer, ByteRange range) const {
        if (representation_->is_in_memory) {
            std::string_view content = representation_->content;
            return writer.write(content.substr(range.first, range.count));
        }
        std::vector<std::byte> buffer(std::min<std::uint64_t>(range.count, kReadBytes));
        while (range.count > 0) {
            std::span<std::byte> space(buffer.data(), std::min(range.count, buffer.size()));
            std::size_t count = WEFT_TRY(representation_->file.read_at(range.first, space));
            // The file has shrunk, but the head of the response has already stated its length.
            if (count == 0) return ErrorKind::Closed;
            WEFT_ASSERT(count <= space.size(), "a read fills its space at most");
            WEFT_TRY(writer.write(space.first(count)));
            range.first += count;
            range.count -= count;
        }
        return {};
    }

    Shared representation_;
    std::vector<ByteRange> ranges_;
    std::string boundary_;
    std::vector<std::string> heads_;
    std::string end_;
};

// Adds the fields that identify the representation. A 304 has them too (RFC 9110 §15.4.5).
void add_validators(Headers& headers, const Representation& representation, bool is_past) {
    headers.add("ETag", representation.etag);
    if (is_past) headers.add("Last-Modified", representation.modified_text);
}

Response send_ranges(Response response, const Shared& representation, AskedRanges asked,
                     std::string_view content_type) {
    WEFT_ASSERT(!asked.ranges.empty() && asked.ranges.size() <= kRangesSentMax);
    response.status = 206;
    if (asked.ranges.size() == 1) {
        const ByteRange& range = asked.ranges.front();
        response.headers.add("Content-Type", content_type);
        response.headers.add("Content-Range", content_range(range, representation->status.size));
        response.body = body_of(representation, range.first, range.count);
        return response;
    }
    Multipart parts(representation, std::move(asked.ranges), content_type);
    response.headers.add("Content-Type", parts.content_type());
    std::uint64_t size = parts.size();
    response.body = Body::produced(
        [parts = std::move(parts)](BodyWriter& writer) { return parts.write(writer); }, size);
    return response;
}

}  // namespace

Response file_response(const Request& request, std::shared_ptr<const Resource> resource,
                       std::string_view cache_control) {
    WEFT_ASSERT(resource->kind == Resource::Kind::File, "a directory has no content");
    std::string_view content_type = resource->content_type;
    bool varies = resource->representations.size() > 1;
    Shared representation = choose(request, std::move(resource));
    std::uint64_t size = representation->status.size;
    std::int64_t now = env::wall_ns() / 1'000'000'000;
    // RFC 9110 §8.8.2.1: a modification time in the future must not be sent.
    bool is_past = representation->modified_seconds() <= now;
    Validators validators{representation->etag, std::nullopt};
    if (is_past) validators.modified = representation->modified_seconds();
    Condition condition = check_conditions(request, validators, now);
    if (condition == Condition::Failed) return Response::plain(412);

    Response response;
    add_validators(response.headers, *representation, is_past);
    if (varies) response.headers.add_borrowed("Vary", "Accept-Encoding");
    if (!cache_control.empty()) response.headers.add("Cache-Control", cache_control);
    if (condition == Condition::NotModified) {
        response.status = 304;
        // The content is not sent, but its length may be stated, and must then be right (§8.6).
        response.body = body_of(std::move(representation), 0, size);
        return response;
    }
    response.headers.add_borrowed("Accept-Ranges", "bytes");
    response.headers.add_borrowed("X-Content-Type-Options", "nosniff");
    if (representation->coding != wire::Coding::Identity) {
        response.headers.add_borrowed("Content-Encoding", to_string(representation->coding));
    }
    if (auto field = range_field(request, validators, now)) {
        AskedRanges asked = parse_ranges(*field, size);
        if (asked.kind == AskedRanges::Kind::Unsatisfiable) {
            return Response::plain(416).with("Content-Range", format("bytes */{}", size));
        }
        if (asked.kind == AskedRanges::Kind::Partial) {
            return send_ranges(std::move(response), representation, std::move(asked), content_type);
        }
    }
    // Borrowed: the types lie in static tables, as do the names of the codings above.
    response.headers.add_borrowed("Content-Type", content_type);
    response.body = body_of(std::move(representation), 0, size);
    return response;
}

}  // namespace weft::http
