#include "weft/http/wire/chunked.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "weft/base/assert.h"
#include "weft/http/wire/characters.h"
#include "weft/http/wire/fields.h"
#include "weft/http/wire/format.h"

namespace weft::http::wire {
namespace {

constexpr unsigned kSizeDigitsMax = 16;
constexpr std::uint64_t kSizeMax = std::numeric_limits<std::int64_t>::max();

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
    return std::ranges::any_of(
        names, [&](std::string_view other) { return equal_without_case(name, other); });
}

// Fields that decide where a message ends, where it goes and whether the connection is kept. The
// head has decided that.
bool changes_the_message(std::string_view name) {
    static constexpr std::array<std::string_view, 9> kNames = {
        "connection", "content-length", "host",    "keep-alive",       "proxy-connection",
        "te",         "trailer",        "upgrade", "transfer-encoding"};
    return is_one_of(name, kNames);
}

// RFC 9110 §6.5.1: as trailers, request modifiers, authentication and the format of the content
// come too late.
bool comes_too_late(std::string_view name) {
    static constexpr std::array<std::string_view, 22> kNames = {"age",
                                                                "authorization",
                                                                "cache-control",
                                                                "content-encoding",
                                                                "content-type",
                                                                "content-range",
                                                                "content-location",
                                                                "cookie",
                                                                "date",
                                                                "expect",
                                                                "expires",
                                                                "if-match",
                                                                "if-range",
                                                                "location",
                                                                "max-forwards",
                                                                "pragma",
                                                                "range",
                                                                "retry-after",
                                                                "proxy-authenticate",
                                                                "proxy-authorization",
                                                                "set-cookie",
                                                                "www-authenticate"};
    return is_one_of(name, kNames);
}

}  // namespace

void ChunkedDecoder::reset() {
    state_ = State::Size;
    left_ = 0;
    digits_ = 0;
    extension_bytes_ = 0;
    extension_bytes_total_ = 0;
    line_.clear();
    trailer_bytes_ = 0;
    trailers_.clear();
    error_ = {};
}

bool ChunkedDecoder::fail(const ParseError& error) {
    WEFT_ASSERT(error.status != 0 && error_.status == 0, "a decoder fails once, with a status");
    error_ = error;
    return false;
}

ChunkedDecoder::Step ChunkedDecoder::decode(std::string_view bytes) {
    if (error_.status != 0) return {0, {}, Progress::Failed};
    std::size_t at = 0;
    while (state_ != State::Done) {
        if (at == bytes.size()) return {at, {}, Progress::NeedMore};
        if (state_ == State::Content) {
            WEFT_DASSERT(left_ > 0, "a chunk without content is the last one");
            std::string_view content = bytes.substr(at, std::min<std::uint64_t>(left_, bytes.npos));
            left_ -= content.size();
            if (left_ == 0) state_ = State::ContentEnd;
            return {at + content.size(), content, Progress::NeedMore};
        }
        if (!take(bytes[at++])) return {at, {}, Progress::Failed};
    }
    return {at, {}, Progress::Done};
}

bool ChunkedDecoder::take(char c) {
    WEFT_DASSERT(state_ != State::Content && state_ != State::Done);
    switch (state_) {
    case State::Size: return take_size(c);
    case State::SizeEnd:
        if (c != '\n') return fail(400, "a CR without its LF behind the size of a chunk");
        state_ = left_ == 0 ? State::Trailer : State::Content;
        return true;
    case State::ContentEnd:
        if (c != '\r') return fail(400, "a chunk that is longer than its size");
        state_ = State::ContentEndLf;
        return true;
    case State::ContentEndLf:
        if (c != '\n') return fail(400, "a CR without its LF behind a chunk");
        state_ = State::Size;
        digits_ = 0;
        extension_bytes_ = 0;
        return true;
    case State::Trailer: return take_trailer(c);
    default: return take_extension(c);
    }
}

bool ChunkedDecoder::take_size(char c) {
    if (int value = hex_value(c); value >= 0) {
        if (++digits_ > kSizeDigitsMax) return fail(400, "a chunk size of too many digits");
        WEFT_DASSERT(left_ >> 60 == 0, "sixteen digits do not overflow");
        left_ = left_ * 16 + static_cast<unsigned>(value);
        if (left_ > kSizeMax) return fail(400, "a chunk size that is too large");
        return true;
    }
    if (digits_ == 0) return fail(400, "a chunk without a size");
    if (c == ';') {
        state_ = State::ExtensionBegin;
    } else if (c == '\r') {
        state_ = State::SizeEnd;
    } else {
        return fail(400, "a chunk size that is no number");
    }
    return true;
}

// RFC 9112 §7.1.1: *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ), here without
// blanks before the first ';'. Extensions are dropped; they are parsed because all parties must
// agree on where they end.
bool ChunkedDecoder::take_extension(char c) {
    ++extension_bytes_;
    ++extension_bytes_total_;
    if (extension_bytes_ > limits_.extension_bytes) {
        return fail({400, "the extensions of a chunk have more bytes than",
                     "ChunkedLimits::extension_bytes", limits_.extension_bytes});
    }
    if (extension_bytes_total_ > limits_.extension_bytes_total) {
        return fail({400, "the extensions of all chunks have more bytes than",
                     "ChunkedLimits::extension_bytes_total", limits_.extension_bytes_total});
    }
    auto go = [this](State next) {
        state_ = next;
        return true;
    };
    bool token = is(Class::Token, c);
    switch (state_) {
    case State::ExtensionBegin:
        if (is_blank(c)) return true;
        if (token) return go(State::ExtensionName);
        break;
    case State::ExtensionName:
        if (token) return true;
        if (c == '\r') return go(State::SizeEnd);
        [[fallthrough]];
    case State::ExtensionNameEnd:
        if (is_blank(c)) return go(State::ExtensionNameEnd);
        if (c == '=') return go(State::ExtensionValueBegin);
        if (c == ';') return go(State::ExtensionBegin);
        break;
    case State::ExtensionValueBegin:
        if (is_blank(c)) return true;
        if (c == '"') return go(State::ExtensionQuoted);
        if (token) return go(State::ExtensionValue);
        break;
    case State::ExtensionQuoted:
        if (c == '"') return go(State::ExtensionQuotedEnd);
        if (c == '\\') return go(State::ExtensionEscape);
        if (is(Class::FieldValue, c)) return true;
        break;
    case State::ExtensionEscape:
        if (is(Class::FieldValue, c)) return go(State::ExtensionQuoted);
        break;
    case State::ExtensionValue:
        if (token) return true;
        [[fallthrough]];
    case State::ExtensionQuotedEnd:
        if (c == '\r') return go(State::SizeEnd);
        [[fallthrough]];
    default:
        if (is_blank(c)) return go(State::ExtensionValueEnd);
        if (c == ';') return go(State::ExtensionBegin);
    }
    return fail(400, "a malformed chunk extension");
}

bool ChunkedDecoder::take_trailer(char c) {
    if (++trailer_bytes_ > limits_.trailer_bytes) {
        return fail({431, "the trailers have more bytes than", "ChunkedLimits::trailer_bytes",
                     limits_.trailer_bytes});
    }
    if (line_.ends_with('\r') && c != '\n') return fail(400, "a CR without its LF");
    line_.push_back(c);
    return c != '\n' || end_trailer();
}

bool ChunkedDecoder::end_trailer() {
    WEFT_DASSERT(line_.ends_with('\n'), "the line has come as a whole");
    FieldReader reader(line_.data(), line_.data() + line_.size());
    Headers::Field field;
    switch (reader.next(field)) {
    case FieldReader::Line::End: state_ = State::Done; return true;
    case FieldReader::Line::Field: break;
    case FieldReader::Line::Malformed: return fail(400, reader.reason());
    case FieldReader::Line::NeedMore: return fail(400, "a malformed trailer");
    }
    if (changes_the_message(field.name)) return fail(400, "a trailer that must not be one");
    if (!comes_too_late(field.name)) {
        if (trailers_.size() == limits_.trailers) {
            return fail(
                {431, "there are more trailers than", "ChunkedLimits::trailers", limits_.trailers});
        }
        trailers_.add(field.name, field.value);
    }
    line_.clear();
    return true;
}

ChunkHead chunk_head(std::uint64_t bytes) {
    auto digits = std::max(1U, (static_cast<unsigned>(std::bit_width(bytes)) + 3) / 4);
    ChunkHead head;
    WEFT_DASSERT(digits + kChunkEnd.size() <= head.text.size());
    for (unsigned i = 0; i < digits; ++i)
        head.text[i] = kHexDigits[bytes >> (digits - 1 - i) * 4 & 15];
    std::ranges::copy(kChunkEnd, head.text.begin() + digits);
    head.size = static_cast<std::uint8_t>(digits + kChunkEnd.size());
    return head;
}

void append_last_chunk(std::string& out, const Headers& trailers) {
    out.append("0\r\n");
    append_fields(out, trailers);
    out.append(kHeadEnd);
}

}  // namespace weft::http::wire
