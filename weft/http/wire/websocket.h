// WebSocket after its handshake (RFC 6455, RFC 7692): bytes in, events out; messages in, bytes out.
//
//     Receiver receiver(Role::Server, limits, deflate);
//     for (;;) {
//         Event event = receiver.receive(bytes);
//         switch (event.kind) {
//         case Event::Kind::NeedMore: read more bytes; break;
//         case Event::Kind::Message: use event.type and event.payload; break;
//         case Event::Kind::Ping: sender.pong(out, event.payload); break;
//         case Event::Kind::Pong: break;
//         case Event::Kind::Close: echo event.close_code unless we have sent a Close; end
//         case Event::Kind::Failed: sender.close(out, event.close_code); end
//         }
//     }
//
// A Receiver and a Sender are each owned by one fiber at a time; they share nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/http/wire/utf8.h"
#include "weft/http/wire/websocket_deflate.h"
#include "weft/http/wire/websocket_handshake.h"

namespace weft::http::wire::websocket {

enum class Role : std::uint8_t { Server, Client };  // our own side
enum class MessageType : std::uint8_t { Text, Binary };

// Status codes of a Close (RFC 6455 §7.4.1).
namespace close_code {
inline constexpr std::uint16_t kNormal = 1000;
inline constexpr std::uint16_t kGoingAway = 1001;
inline constexpr std::uint16_t kProtocolError = 1002;
inline constexpr std::uint16_t kNoStatus = 1005;  // never sent: the Close had none
inline constexpr std::uint16_t kAbnormal = 1006;  // never sent: there was no Close
inline constexpr std::uint16_t kInvalidPayload = 1007;
inline constexpr std::uint16_t kPolicy = 1008;
inline constexpr std::uint16_t kTooBig = 1009;
inline constexpr std::uint16_t kInternalError = 1011;
}  // namespace close_code

// Whether a Close may carry it: 1000 to 1003, 1007 to 1014 and 3000 to 4999.
bool is_close_code(std::uint16_t code);

// What a Receiver accepts; more is answered with kTooBig.
struct Limits {
    std::size_t frame_bytes = 4 * 1024 * 1024;    // as message_bytes: many send just one frame
    std::size_t message_bytes = 4 * 1024 * 1024;  // decompressed
    std::size_t fragments = 1024;                 // of one message
};

struct Event {
    enum class Kind : std::uint8_t { NeedMore, Message, Ping, Pong, Close, Failed };
    Kind kind = Kind::NeedMore;
    MessageType type = MessageType::Binary;  // of a Message
    // Of a Message, Ping or Pong; the reason of a Close, or of Failed, for people. Lives until the
    // next call. That of a Text is UTF-8.
    std::string_view payload = {};
    // Close: the peer's, or kNoStatus. Failed: the one to be sent.
    std::uint16_t close_code = 0;
    // Failed because a limit was passed: its name and value.
    const char* limit_name = nullptr;
    std::size_t limit = 0;
};

class Receiver {
public:
    explicit Receiver(Role role, const Limits& limits = {},
                      const std::optional<DeflateParameters>& deflate = {});

    // Parses the next bytes of the stream up to the next event; what was used is removed from
    // `bytes`. An error is given as soon as it is seen, also in the middle of a message. After
    // Close or Failed all bytes are dropped.
    Event receive(Bytes& bytes);
    // The payload of the last event, which was a Message, without copying it.
    std::string take_message();

private:
    enum class State : std::uint8_t { Head, Payload, Ended };
    enum class Opcode : std::uint8_t { Continuation, Text, Binary, Close = 8, Ping, Pong };

    bool is_control() const { return opcode_ >= Opcode::Close; }
    std::optional<Event> fail(std::uint16_t code, std::string_view why);
    std::optional<Event> fail_limit(std::string_view why, const char* name, std::size_t limit);
    std::optional<Event> fail_message_size();
    // Each of these gives an event if there is one.
    std::optional<Event> read_head(Bytes& bytes);
    std::optional<Event> check_first_byte(std::uint8_t byte);
    std::optional<Event> check_second_byte(std::uint8_t byte);
    std::optional<Event> begin_payload();
    std::optional<Event> read_payload(Bytes& bytes);
    std::optional<Event> add_to_message(Bytes part);
    std::optional<Event> end_frame();
    std::optional<Event> end_message();
    std::optional<Event> end_close();
    std::optional<Event> fail_decompression(const Error& error, std::size_t from);
    std::optional<Event> check_text(std::size_t from);

    Role role_;
    Limits limits_;
    std::optional<Decompressor> decompressor_;
    State state_ = State::Head;

    // The frame.
    std::array<std::uint8_t, 14> head_{};
    std::uint8_t head_bytes_ = 0;
    std::uint8_t head_bytes_all_ = 2;
    Opcode opcode_ = Opcode::Continuation;
    bool final_ = false;
    std::uint64_t left_ = 0;  // of its payload
    std::uint32_t mask_ = 0;
    std::size_t mask_offset_ = 0;
    std::string control_;  // the payload of a control frame

    // The message.
    bool inside_ = false;  // its first frame has come, its last has not
    bool given_ = false;   // it was given out, and is cleared by the next receive()
    bool compressed_ = false;
    MessageType type_ = MessageType::Binary;
    std::size_t fragments_ = 0;
    std::string message_;
    std::string masked_;  // a part that is unmasked and then decompressed
    Utf8Validator text_;
};

struct SenderOptions {
    std::optional<DeflateParameters> deflate = {};
    int level = 6;                          // of zlib, 1 to 9
    std::size_t compress_from_bytes = 128;  // smaller messages are sent as they are
    std::size_t frame_bytes = 1024 * 1024;  // larger messages are sent in fragments
    // For clients: gives a new, unpredictable key for each frame (RFC 6455 §10.3).
    std::function<std::uint32_t()> mask_key = {};
};

class Sender {
public:
    explicit Sender(Role role, const SenderOptions& options = {});

    // Each appends whole frames to `out`. Misuse for what must not be sent: text that is not UTF-8,
    // more than 125 bytes in a Ping or Pong, a code that is not one, a reason above 123 bytes.
    Result<void> message(std::string& out, MessageType type, std::string_view payload);
    Result<void> ping(std::string& out, std::string_view payload = {});
    Result<void> pong(std::string& out, std::string_view payload = {});
    // kNoStatus sends a Close without a code.
    Result<void> close(std::string& out, std::uint16_t code, std::string_view reason = {});

private:
    Result<void> control(std::string& out, std::uint8_t opcode, std::string_view payload);
    void frame(std::string& out, std::uint8_t first_byte, std::string_view payload);

    Role role_;
    SenderOptions options_;
    std::optional<Compressor> compressor_;
    std::string compressed_;
};

// XORs the bytes with the key, whose first byte in memory is for the byte at `offset` 0, 4, 8, ...
void apply_mask(ByteSpace bytes, std::uint32_t key, std::size_t offset);

}  // namespace weft::http::wire::websocket
