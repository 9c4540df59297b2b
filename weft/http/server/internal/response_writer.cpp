#include "weft/http/server/internal/response_writer.h"

#include <algorithm>
#include <array>

#include "weft/base/assert.h"
#include "weft/base/log.h"
#include "weft/base/time.h"
#include "weft/fiber/turn.h"
#include "weft/http/internal/unsent.h"
#include "weft/http/wire/chunked.h"
#include "weft/http/wire/format.h"

namespace weft::http {
namespace {

// RFC 9110 §8.6, §15.2: a server must not send a body, or the length of one, with these.
bool has_no_body(std::uint16_t status) { return status < 200 || status == 204; }

// RFC 9110 §7.8: who sends Upgrade MUST name it in Connection, so that nobody passes it on.
std::string_view connection_with_upgrade(std::string_view connection) {
    if (connection.empty()) return "upgrade";
    return connection == "close" ? "upgrade, close" : "upgrade, keep-alive";
}

// At most so many pieces of a body are sent together.
constexpr std::size_t kPiecesMax = 16;

// The room for the head of a chunk that is being gathered: two digits and "\r\n", which is enough
// for most chunks. A larger or smaller head moves the content.
constexpr std::string_view kChunkHeadRoom = "----";

// Sends what can be sent without waiting; gives the rest.
Result<std::span<Bytes>> try_send(net::Stream& stream, std::span<Bytes> parts) {
    std::size_t sent = WEFT_TRY(stream.try_write(parts));
    return unsent(parts, sent);
}

// Sends the parts in slices, each of which may take `time`.
Result<void> send_in_slices(net::Stream& stream, std::span<Bytes> parts, Nanoseconds time) {
    for (Bytes part : parts) {
        while (!part.empty()) {
            Bytes slice = part.first(std::min(part.size(), kWriteSliceBytes));
            WEFT_TRY(stream.write_all(slice, Deadline::after(time)));
            part = part.subspan(slice.size());
        }
    }
    return {};
}

[[gnu::noinline]] Result<void> send_rest(net::Stream& stream, std::span<Bytes> rest,
                                         Nanoseconds time, BodyWriter::BeforeWait* before_wait) {
    if (before_wait && *before_wait) std::exchange(*before_wait, nullptr)();
    return send_in_slices(stream, rest, time);
}

// Sends what was gathered, and clears it. Mostly all of it can be sent without waiting.
[[gnu::always_inline]] inline Result<void> send_gathered(net::Stream& stream, std::string& output,
                                                         Nanoseconds time,
                                                         BodyWriter::BeforeWait* before_wait) {
    Bytes part = as_bytes(output);
    Result<std::size_t> taken = stream.try_write(std::span(&part, 1));
    Result<void> sent;
    WEFT_DASSERT(!taken || *taken <= part.size(), "a stream takes no more than it is given");
    if (!taken) [[unlikely]] {
        sent = taken.error();
    } else if (*taken != part.size()) [[unlikely]] {
        part = part.subspan(*taken);
        sent = send_rest(stream, std::span(&part, 1), time, before_wait);
    }
    output.clear();
    return sent;
}

}  // namespace

Result<void> send_output(net::Stream& stream, std::string& output, Nanoseconds time) {
    if (output.empty()) return {};
    return send_gathered(stream, output, time, nullptr);
}

bool sets_framing(const Headers& headers) {
    return std::ranges::any_of(headers, [](const Headers::Field& field) {
        return equal_without_case(field.name, "content-length") ||
               equal_without_case(field.name, "transfer-encoding") ||
               equal_without_case(field.name, "connection");
    });
}

Result<void> append_informational(std::string& output, wire::Version version, std::uint16_t status,
                                  const Headers& headers) {
    WEFT_ASSERT(status >= 100 && status < 200, "an informational response is 1xx");
    // Upgrade would need a Connection that names it.
    if (!headers.is_valid() || sets_framing(headers) || headers.has("upgrade"))
        return Error(ErrorKind::Misuse, "a field cannot be sent with an informational response");
    if (version == wire::Version::Http10) return {};
    wire::append_status_line(output, status);
    wire::append_fields(output, headers);
    output.append(wire::kHeadEnd);
    return {};
}

void call_afterwards(Response& response, LogLimit& log_limit) {
    try {
        response.afterwards();
    } catch (...) {  // user code: the client has its response
        std::string why = Error::from_current_exception().message();
        log_limited(log_limit, LogLevel::Error, why,
                    "http: what was to be done after a response failed: {}", why);
    }
}

Result<void> ResponseWriter::write_response(Response& response) {
    WEFT_DASSERT(coding_ == Coding::None && body_bytes_ == 0 && chunk_begin_ == kNoChunk,
                 "a writer writes one response");
    if (response.upgrade) {
        coding_ = Coding::None;
        write_head(response);
        return {};
    }
    // RFC 9110 §15.3.6: a 205 MUST have no content, and says so by its length.
    if (response.status == 205) response.body = {};
    Body& body = response.body;
    std::optional<std::uint64_t> size = body.size();
    // RFC 9110 §8.6: a 304 says the length that a 200 would have, or none.
    bool unknown = response.status == 304 && size.value_or(0) == 0;
    if (has_no_body(response.status) || unknown) {
        coding_ = Coding::None;
    } else if (size) {
        coding_ = Coding::Length;
        length_ = *size;
    } else if (options_.version == wire::Version::Http11) {
        coding_ = Coding::Chunked;
    } else {
        coding_ = Coding::UntilClose;
        options_.keep_alive = false;
    }
    write_head(response);
    if (options_.head_only || has_no_body(response.status) || response.status == 304) return {};
    Result<void> written;
    if (auto text = body.text()) {
        written = write_text(response, *text);
    } else if (const auto* part = body.as_file()) {
        written = write_file(*part);
    } else {
        written = write_produced(*body.as_produced());
    }
    if (written) [[likely]]
        return {};
    // The kernel must not keep data for a client that does not read; and a client must not take a
    // part of a body that ends with the connection for the whole.
    if (coding_ == Coding::UntilClose || written.error().kind() == ErrorKind::TimedOut)
        static_cast<void>(stream_.reset_on_close());
    return written;
}

void ResponseWriter::write_head(const Response& response) {
    bool has_date = false;
    bool has_server = options_.server_name.empty();
    bool has_upgrade = false;
    for (const Headers::Field& field : response.headers) {
        has_date |= equal_without_case(field.name, "date");
        has_server |= equal_without_case(field.name, "server");
        has_upgrade |= equal_without_case(field.name, "upgrade");
    }
    std::string_view connection;
    if (!response.upgrade && !options_.keep_alive) {
        connection = "close";
    } else if (!response.upgrade && options_.version == wire::Version::Http10) {
        connection = "keep-alive";
    }
    bool has_length = coding_ == Coding::Length;
    wire::append_response_head(
        exchange_.output,
        {.status = response.status,
         .headers = response.headers,
         .date_line = has_date ? std::string_view() : exchange_.date_line(),
         .server = has_server ? std::string_view() : options_.server_name,
         .connection = has_upgrade ? connection_with_upgrade(connection) : connection,
         .length = has_length ? std::optional(length_) : std::nullopt,
         .is_chunked = coding_ == Coding::Chunked});
}

Result<void> ResponseWriter::write_text(Response& response, std::string_view text) {
    std::string& output = exchange_.output;
    body_bytes_ = text.size();
    if (text.size() <= kSmallBodyBytes) {
        output.append(text);
        if (output.size() < kWriteGatherBytes || !options_.may_wait) return {};
        return send_output(stream_, output, limits_.write_time);
    }
    std::array<Bytes, 2> parts{as_bytes(output), as_bytes(text)};
    Result<std::span<Bytes>> rest = try_send(stream_, parts);
    Result<void> sent;
    if (!rest) sent = rest.error();
    if (rest && !rest->empty()) sent = send_rest_of_text(response, *rest);
    output.clear();
    return sent;
}

// Sends the rest of a text to a slow reader. A small shared text is copied first, so that its owner
// (a buffer that others wait for) is released before the wait.
Result<void> ResponseWriter::send_rest_of_text(Response& response, std::span<Bytes> parts) {
    std::size_t size = 0;
    for (Bytes part : parts) size += part.size();
    if (!response.body.is_shared() || response.afterwards || size > 2 * kReadBufferBytes)
        return send_in_slices(stream_, parts, limits_.write_time);
    std::string kept;
    for (Bytes part : parts) kept.append(as_text(part));
    response.body = {};
    response.headers.clear();
    return send_output(stream_, kept, limits_.write_time);
}

Result<void> ResponseWriter::write_file(const Body::FilePart& part) {
    WEFT_TRY(send_output(stream_, exchange_.output, limits_.write_time));
    std::uint64_t sent = 0;
    while (sent < part.count) {
        std::uint64_t slice = std::min<std::uint64_t>(part.count - sent, kWriteSliceBytes);
        WEFT_TRY(stream_.send_file(part.file->fd(), part.offset + sent, slice,
                                   Deadline::after(limits_.write_time)));
        sent += slice;
        body_bytes_ = sent;
    }
    return {};
}

Result<void> ResponseWriter::write_produced(Body::Produced& produced) {
    Result<void> outcome;
    try {
        outcome = produced.producer(*this);
    } catch (...) {  // user code: what it throws cuts the body off, as its errors do
        outcome = Error::from_current_exception();
    }
    // After a failure as well: without its end a chunk could be taken for something else.
    exchange_.output.append(end_chunk(0));
    producer_failed_ = !outcome && !has_failed_to_send_;
    WEFT_TRY(outcome);
    // Whatever the producer returns: nothing can follow a piece that was sent in part.
    if (has_failed_to_send_) return ErrorKind::Closed;
    if (coding_ == Coding::Chunked) return end_chunks();
    // What is left waits in the output: the next response may leave with it.
    if (coding_ == Coding::Length && body_bytes_ != length_)
        return Error(ErrorKind::Misuse, "a body is shorter than its handler said");
    return {};
}

Result<void> ResponseWriter::write(Bytes bytes) {
    // Otherwise a producer would never yield: what is gathered, or taken by the kernel at once, is
    // written without a wait.
    turn::may_wait("body.write", this, turn::cost_of(bytes.size()));
    if (bytes.empty()) return {};
    WEFT_TRY(check_length(bytes.size()));
    std::string& output = exchange_.output;
    if (output.size() + bytes.size() > kWriteGatherBytes) {
        body_bytes_ += bytes.size();
        return send(std::span(&bytes, 1), bytes.size());
    }
    begin_chunk();
    output.append(as_text(bytes));
    body_bytes_ += bytes.size();
    return {};
}

Result<void> ResponseWriter::write_all(std::span<const Bytes> pieces) {
    std::size_t bytes = 0;
    for (Bytes piece : pieces) bytes += piece.size();
    if (pieces.size() > kPiecesMax || exchange_.output.size() + bytes <= kWriteGatherBytes)
        return BodyWriter::write_all(pieces);
    turn::may_wait("body.write", this, turn::cost_of(bytes));
    WEFT_TRY(check_length(bytes));
    body_bytes_ += bytes;
    return send(pieces, bytes);
}

// The body may have so many bytes more, if it does not say its length or not all of that has come.
inline Result<void> ResponseWriter::check_length(std::size_t more) const {
    WEFT_DASSERT(coding_ != Coding::Length || body_bytes_ <= length_);
    if (coding_ == Coding::Length && more > length_ - body_bytes_)
        return Error(ErrorKind::Misuse, "a body is longer than its handler said");
    return {};
}

Result<void> ResponseWriter::flush() {
    turn::may_wait("body.flush", this);
    std::string& output = exchange_.output;
    output.append(end_chunk(0));
    if (output.empty()) return {};
    Result<void> sent = send_gathered(stream_, output, limits_.write_time, &before_wait_);
    has_failed_to_send_ |= !sent;
    return sent;
}

// Sends what was gathered and `more`, which has so many bytes, in one chunk where the body is
// chunked.
Result<void> ResponseWriter::send(std::span<const Bytes> more, std::size_t bytes) {
    begin_chunk();
    std::string_view chunk_end = end_chunk(bytes);
    std::string& output = exchange_.output;
    std::array<Bytes, kPiecesMax + 2> parts;
    WEFT_ASSERT(more.size() <= kPiecesMax);
    parts[0] = as_bytes(output);
    std::ranges::copy(more, parts.begin() + 1);
    parts[more.size() + 1] = as_bytes(chunk_end);
    Result<std::span<Bytes>> rest = try_send(stream_, std::span(parts).first(more.size() + 2));
    Result<void> sent;
    if (!rest) sent = rest.error();
    if (rest && !rest->empty()) sent = send_rest(stream_, *rest, limits_.write_time, &before_wait_);
    has_failed_to_send_ |= !sent;
    output.clear();
    return sent;
}

// Leaves room for the head of a chunk before its content is gathered, so that both are sent in one
// piece: the kernel takes one faster than several.
inline void ResponseWriter::begin_chunk() {
    if (coding_ != Coding::Chunked || chunk_begin_ != kNoChunk) return;
    std::size_t begin = exchange_.output.size();
    exchange_.output.append(kChunkHeadRoom);
    chunk_begin_ = begin;
}

// Writes the head of the gathered chunk, whose size is now known: `more` bytes follow what was
// gathered. Gives what must follow them. Where an allocation has failed before anything was
// gathered, there is no chunk: one of size 0 would end the body, and a client would take the part
// that it has for the whole.
inline std::string_view ResponseWriter::end_chunk(std::size_t more) {
    if (chunk_begin_ == kNoChunk) return {};
    std::string& output = exchange_.output;
    std::size_t begin = chunk_begin_;
    WEFT_DASSERT(output.size() >= begin + kChunkHeadRoom.size(),
                 "nothing was sent since the room for the head was made");
    std::size_t size = output.size() - begin - kChunkHeadRoom.size() + more;
    if (size == 0) [[unlikely]] {
        output.resize(begin);
        chunk_begin_ = kNoChunk;
        return {};
    }
    if (size >= 0x10 && size <= 0xff) [[likely]] {
        char* head = output.data() + begin;
        head[0] = wire::kHexDigits[size >> 4];
        head[1] = wire::kHexDigits[size & 15];
        head[2] = '\r';
        head[3] = '\n';
    } else {
        output.replace(begin, kChunkHeadRoom.size(), wire::chunk_head(size).view());
    }
    chunk_begin_ = kNoChunk;
    return wire::kChunkEnd;
}

// The last chunk waits in the output: the next response may leave with it.
Result<void> ResponseWriter::end_chunks() {
    WEFT_DASSERT(chunk_begin_ == kNoChunk, "the last chunk with content has ended");
    if (!trailers_.is_valid()) return Error(ErrorKind::Misuse, "a trailer cannot be sent");
    std::string& output = exchange_.output;
    wire::append_last_chunk(output, trailers_);
    if (output.size() < kWriteGatherBytes) return {};
    return send_output(stream_, output, limits_.write_time);
}

}  // namespace weft::http
