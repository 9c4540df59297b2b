#include "weft/http/wire/websocket.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/assert.h"

namespace weft::http::wire::websocket {
namespace {

constexpr std::uint8_t kFinalBit = 0x80;
constexpr std::uint8_t kCompressedBit = 0x40;  // RSV1 (RFC 7692 §6)
constexpr std::uint8_t kReservedBits = 0x70;
constexpr std::uint8_t kOpcodeBits = 0x0f;
constexpr std::uint8_t kMaskBit = 0x80;
constexpr std::uint8_t kLengthBits = 0x7f;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;
constexpr std::size_t kControlBytesMax = 125;
// A message buffer up to this size is kept for the next message.
constexpr std::size_t kKeptBytesMax = 64 * 1024;
// How many bytes are unmasked and decompressed at once.
constexpr std::size_t kPartBytes = 16 * 1024;

std::uint64_t big_endian(const std::uint8_t* bytes, std::size_t count) {
    WEFT_DASSERT(count <= sizeof(std::uint64_t));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
    return value;
}

ByteSpace last_bytes(std::string& text, std::size_t count) {
    WEFT_DASSERT(count <= text.size());
    return std::as_writable_bytes(std::span(text)).last(count);
}

}  // namespace

bool is_close_code(std::uint16_t code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

void apply_mask(ByteSpace bytes, std::uint32_t key, std::size_t offset) {
    std::uint8_t key_bytes[4];
    std::memcpy(key_bytes, &key, sizeof key);
    std::uint8_t pattern[8];
    for (std::size_t i = 0; i < 8; ++i) pattern[i] = key_bytes[(offset + i) % 4];
    std::uint64_t wide = 0;
    std::memcpy(&wide, pattern, sizeof wide);
    std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 16; left -= 16, at += 16) {
        std::uint64_t words[2];
        std::memcpy(words, at, sizeof words);
        words[0] ^= wide;
        words[1] ^= wide;
        std::memcpy(at, words, sizeof words);
    }
    for (std::size_t i = 0; i < left; ++i) at[i] ^= std::byte{pattern[i % 8]};
}

Receiver::Receiver(Role role, const Limits& limits, const std::optional<DeflateParameters>& deflate)
    : role_(role), limits_(limits) {
    if (!deflate) return;
    bool dropped = role == Role::Server ? deflate->client_no_context_takeover
                                        : deflate->server_no_context_takeover;
    decompressor_.emplace(
        dropped ? Context::Drop : Context::Keep,
        role == Role::Server ? deflate->client_max_window_bits : deflate->server_max_window_bits);
}

std::string Receiver::take_message() {
    WEFT_DASSERT(given_, "the last event was a Message");
    return std::exchange(message_, {});
}

Event Receiver::receive(Bytes& bytes) {
    if (std::exchange(given_, false)) {
        message_.clear();
        if (message_.capacity() > kKeptBytesMax) message_ = {};
    }
    while (state_ != State::Ended) {
        if (state_ == State::Head) {
            if (auto failed = read_head(bytes)) return *failed;
            if (state_ == State::Head) return {};
        }
        if (auto event = read_payload(bytes)) return *event;
        if (state_ == State::Payload) return {};
    }
    bytes = {};
    return {};
}

std::optional<Event> Receiver::fail(std::uint16_t code, std::string_view why) {
    state_ = State::Ended;
    return Event{.kind = Event::Kind::Failed, .payload = why, .close_code = code};
}

std::optional<Event> Receiver::fail_limit(std::string_view why, const char* name,
                                          std::size_t limit) {
    state_ = State::Ended;
    return Event{.kind = Event::Kind::Failed,
                 .payload = why,
                 .close_code = close_code::kTooBig,
                 .limit_name = name,
                 .limit = limit};
}

std::optional<Event> Receiver::fail_message_size() {
    return fail_limit("a message has more bytes than", "Limits::message_bytes",
                      limits_.message_bytes);
}

std::optional<Event> Receiver::read_head(Bytes& bytes) {
    while (head_bytes_ < head_bytes_all_) {
        if (bytes.empty()) return {};
        auto byte = std::to_integer<std::uint8_t>(bytes.front());
        bytes = bytes.subspan(1);
        WEFT_DASSERT(head_bytes_all_ <= head_.size());
        head_[head_bytes_++] = byte;
        std::optional<Event> failed;
        if (head_bytes_ == 1) failed = check_first_byte(byte);
        if (head_bytes_ == 2) failed = check_second_byte(byte);
        if (failed) return failed;
    }
    return begin_payload();
}

std::optional<Event> Receiver::check_first_byte(std::uint8_t byte) {
    using close_code::kProtocolError;
    opcode_ = static_cast<Opcode>(byte & kOpcodeBits);
    final_ = (byte & kFinalBit) != 0;
    bool compressed = (byte & kCompressedBit) != 0;
    if ((byte & kReservedBits & ~kCompressedBit) != 0 || (compressed && !decompressor_)) {
        return fail(kProtocolError, "a reserved bit is set");
    }
    switch (opcode_) {
    case Opcode::Close:
    case Opcode::Ping:
    case Opcode::Pong:
        if (!final_) return fail(kProtocolError, "a control frame is fragmented");
        if (compressed) return fail(kProtocolError, "a control frame is compressed");
        return {};
    case Opcode::Continuation:
        if (!inside_) return fail(kProtocolError, "there is no message to continue");
        // RFC 7692 §6.1: the bit stands on the first frame of a message only.
        if (compressed) return fail(kProtocolError, "a continuation says that it is compressed");
        break;
    case Opcode::Text:
    case Opcode::Binary:
        if (inside_) return fail(kProtocolError, "a message begins inside another");
        inside_ = true;
        compressed_ = compressed;
        type_ = opcode_ == Opcode::Text ? MessageType::Text : MessageType::Binary;
        fragments_ = 0;
        text_.reset();
        break;
    default: return fail(kProtocolError, "the opcode is reserved");
    }
    if (++fragments_ > limits_.fragments) {
        return fail_limit("a message has more fragments than", "Limits::fragments",
                          limits_.fragments);
    }
    return {};
}

std::optional<Event> Receiver::check_second_byte(std::uint8_t byte) {
    // RFC 6455 §5.1: what a client sends is masked, what a server sends is not.
    bool masked = (byte & kMaskBit) != 0;
    if (masked != (role_ == Role::Server)) {
        return fail(close_code::kProtocolError,
                    masked ? "a frame of a server is masked" : "a frame of a client is not masked");
    }
    std::uint8_t length = byte & kLengthBits;
    if (is_control() && length > kControlBytesMax) {
        return fail(close_code::kProtocolError, "a control frame is too large");
    }
    int length_bytes = length == kLength16 ? 2 : length == kLength64 ? 8 : 0;
    head_bytes_all_ = static_cast<std::uint8_t>(2 + length_bytes + (masked ? 4 : 0));
    return {};
}

std::optional<Event> Receiver::begin_payload() {
    using close_code::kProtocolError;
    std::uint8_t length = head_[1] & kLengthBits;
    std::size_t mask_at = 2;
    left_ = length;
    if (length == kLength16) {
        left_ = big_endian(&head_[2], 2);
        if (left_ < kLength16) return fail(kProtocolError, "a length is written too long");
        mask_at = 4;
    } else if (length == kLength64) {
        left_ = big_endian(&head_[2], 8);
        if (left_ >> 63 != 0) return fail(kProtocolError, "a length is above 2^63");
        if (left_ <= 0xffff) return fail(kProtocolError, "a length is written too long");
        mask_at = 10;
    }
    if (left_ > limits_.frame_bytes) {
        return fail_limit("a frame has more bytes than", "Limits::frame_bytes",
                          limits_.frame_bytes);
    }
    WEFT_ASSERT(message_.size() <= limits_.message_bytes, "a message stays within its limit");
    if (!is_control() && !compressed_ && left_ > limits_.message_bytes - message_.size()) {
        return fail_message_size();
    }
    mask_ = 0;
    if (role_ == Role::Server) std::memcpy(&mask_, &head_[mask_at], sizeof mask_);
    mask_offset_ = 0;
    control_.clear();
    state_ = State::Payload;
    return {};
}

std::optional<Event> Receiver::read_payload(Bytes& bytes) {
    while (left_ != 0 && !bytes.empty()) {
        Bytes part = bytes.first(
            static_cast<std::size_t>(std::min<std::uint64_t>({left_, bytes.size(), kPartBytes})));
        bytes = bytes.subspan(part.size());
        left_ -= part.size();
        if (is_control()) {
            control_ += as_text(part);
            apply_mask(last_bytes(control_, part.size()), mask_, mask_offset_);
        } else if (auto failed = add_to_message(part)) {
            return failed;
        }
        mask_offset_ += part.size();
    }
    if (left_ != 0) return {};
    return end_frame();
}

std::optional<Event> Receiver::add_to_message(Bytes part) {
    WEFT_DASSERT(inside_ && !given_, "a message has begun, and is not given out yet");
    std::size_t size = message_.size();
    if (compressed_) {
        masked_ = as_text(part);
        apply_mask(last_bytes(masked_, part.size()), mask_, mask_offset_);
        auto result = decompressor_->add(as_bytes(masked_), message_, limits_.message_bytes);
        if (!result) return fail_decompression(result.error(), size);
    } else {
        message_ += as_text(part);
        apply_mask(last_bytes(message_, part.size()), mask_, mask_offset_);
    }
    return check_text(size);
}

std::optional<Event> Receiver::fail_decompression(const Error& error, std::size_t from) {
    // The first error in the text is given, wherever the bytes were cut into parts.
    if (auto failed = check_text(from)) return failed;
    switch (error.kind()) {
    case ErrorKind::Limit: return fail_message_size();
    case ErrorKind::Other:
        return fail(close_code::kInvalidPayload, "a compressed message is corrupt");
    default: return fail(close_code::kInternalError, "there is no memory to decompress");
    }
}

std::optional<Event> Receiver::check_text(std::size_t from) {
    if (type_ == MessageType::Text && !text_.add(std::string_view(message_).substr(from))) {
        return fail(close_code::kInvalidPayload, "a text is not UTF-8");
    }
    return {};
}

std::optional<Event> Receiver::end_frame() {
    WEFT_DASSERT(state_ == State::Payload && left_ == 0);
    state_ = State::Head;
    head_bytes_ = 0;
    head_bytes_all_ = 2;
    switch (opcode_) {
    case Opcode::Ping: return Event{.kind = Event::Kind::Ping, .payload = control_};
    case Opcode::Pong: return Event{.kind = Event::Kind::Pong, .payload = control_};
    case Opcode::Close: return end_close();
    default: break;
    }
    if (!final_) return {};
    return end_message();
}

std::optional<Event> Receiver::end_message() {
    WEFT_DASSERT(inside_ && !given_, "a message has begun, and is not given out yet");
    if (compressed_) {
        std::size_t size = message_.size();
        auto result = decompressor_->finish(message_, limits_.message_bytes);
        if (!result) return fail_decompression(result.error(), size);
        if (auto failed = check_text(size)) return failed;
    }
    if (type_ == MessageType::Text && !text_.is_complete()) {
        return fail(close_code::kInvalidPayload, "a text ends inside a character");
    }
    inside_ = false;
    given_ = true;
    return Event{.kind = Event::Kind::Message, .type = type_, .payload = message_};
}

std::optional<Event> Receiver::end_close() {
    state_ = State::Ended;
    Event event{.kind = Event::Kind::Close, .close_code = close_code::kNoStatus};
    if (control_.empty()) return event;
    if (control_.size() == 1) return fail(close_code::kProtocolError, "a Close has half a code");
    event.close_code = static_cast<std::uint16_t>(
        big_endian(reinterpret_cast<const std::uint8_t*>(control_.data()), 2));
    if (!is_close_code(event.close_code)) {
        return fail(close_code::kProtocolError, "a Close has a code that is none");
    }
    event.payload = std::string_view(control_).substr(2);
    if (!is_utf8(event.payload)) {
        return fail(close_code::kInvalidPayload, "the reason of a Close is not UTF-8");
    }
    return event;
}

}  // namespace weft::http::wire::websocket
