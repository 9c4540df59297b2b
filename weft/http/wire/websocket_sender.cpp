#include <algorithm>
#include <cstring>

#include "weft/base/assert.h"
#include "weft/http/wire/websocket.h"

namespace weft::http::wire::websocket {
namespace {

constexpr std::uint8_t kFinalBit = 0x80;
constexpr std::uint8_t kCompressedBit = 0x40;
constexpr std::uint8_t kMaskBit = 0x80;
constexpr std::uint8_t kContinuation = 0;
constexpr std::uint8_t kText = 1;
constexpr std::uint8_t kBinary = 2;
constexpr std::uint8_t kClose = 8;
constexpr std::uint8_t kPing = 9;
constexpr std::uint8_t kPong = 10;
constexpr std::size_t kControlBytesMax = 125;
constexpr std::size_t kReasonBytesMax = kControlBytesMax - 2;

void append_big_endian(std::string& out, std::uint64_t value, int count) {
    for (int i = count - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace

Sender::Sender(Role role, const SenderOptions& options) : role_(role), options_(options) {
    WEFT_ASSERT(role == Role::Server || options.mask_key, "a client masks what it sends");
    WEFT_ASSERT(options.frame_bytes > 0);
    if (!options.deflate) return;
    const DeflateParameters& deflate = *options.deflate;
    bool dropped = role == Role::Server ? deflate.server_no_context_takeover
                                        : deflate.client_no_context_takeover;
    compressor_.emplace(
        dropped ? Context::Drop : Context::Keep,
        role == Role::Server ? deflate.server_max_window_bits : deflate.client_max_window_bits,
        options.level);
}

Result<void> Sender::message(std::string& out, MessageType type, std::string_view payload) {
    if (type == MessageType::Text && !is_utf8(payload)) {
        return Error(ErrorKind::Misuse, "a text message is UTF-8");
    }
    std::uint8_t first_byte = type == MessageType::Text ? kText : kBinary;
    if (compressor_ && payload.size() >= options_.compress_from_bytes) {
        compressed_.clear();
        WEFT_TRY(compressor_->compress(as_bytes(payload), compressed_));
        payload = compressed_;
        first_byte |= kCompressedBit;
    }
    while (payload.size() > options_.frame_bytes) {
        frame(out, first_byte, payload.substr(0, options_.frame_bytes));
        payload.remove_prefix(options_.frame_bytes);
        first_byte = kContinuation;
    }
    frame(out, first_byte | kFinalBit, payload);
    return {};
}

Result<void> Sender::ping(std::string& out, std::string_view payload) {
    return control(out, kPing, payload);
}

Result<void> Sender::pong(std::string& out, std::string_view payload) {
    return control(out, kPong, payload);
}

Result<void> Sender::close(std::string& out, std::uint16_t code, std::string_view reason) {
    if (code == close_code::kNoStatus && reason.empty()) return control(out, kClose, {});
    if (!is_close_code(code)) return Error(ErrorKind::Misuse, "a Close cannot carry this code");
    if (reason.size() > kReasonBytesMax || !is_utf8(reason)) {
        return Error(ErrorKind::Misuse, "a reason has at most 123 bytes of UTF-8");
    }
    std::string payload;
    append_big_endian(payload, code, 2);
    payload += reason;
    return control(out, kClose, payload);
}

Result<void> Sender::control(std::string& out, std::uint8_t opcode, std::string_view payload) {
    if (payload.size() > kControlBytesMax) {
        return Error(ErrorKind::Misuse, "a control frame has at most 125 bytes");
    }
    frame(out, opcode | kFinalBit, payload);
    return {};
}

// RFC 6455 §5.2.
void Sender::frame(std::string& out, std::uint8_t first_byte, std::string_view payload) {
    WEFT_DASSERT((first_byte & 0x08) == 0 || payload.size() <= kControlBytesMax,
                 "a control frame is small");
    std::uint8_t mask_bit = role_ == Role::Client ? kMaskBit : 0;
    out += static_cast<char>(first_byte);
    if (payload.size() <= kControlBytesMax) {
        out += static_cast<char>(mask_bit | payload.size());
    } else if (payload.size() <= 0xffff) {
        out += static_cast<char>(mask_bit | 126);
        append_big_endian(out, payload.size(), 2);
    } else {
        out += static_cast<char>(mask_bit | 127);
        append_big_endian(out, payload.size(), 8);
    }
    if (role_ == Role::Server) {
        out += payload;
        return;
    }
    std::uint32_t key = options_.mask_key();
    char key_bytes[4];
    std::memcpy(key_bytes, &key, sizeof key);
    out.append(key_bytes, sizeof key_bytes);
    out += payload;
    apply_mask(std::as_writable_bytes(std::span(out)).last(payload.size()), key, 0);
}

}  // namespace weft::http::wire::websocket
