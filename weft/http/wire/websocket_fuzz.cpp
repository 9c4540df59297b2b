// The first byte chooses role, limits and compression; the rest is what the peer sends.
//
// However the stream is cut, the events are the same. What is sent comes back. What a server
// answers to an offer, a client that made it accepts.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/http/wire/websocket.h"

namespace weft::http::wire::websocket {
namespace {

struct Setting {
    Role role;
    Limits limits;
    std::optional<DeflateParameters> deflate;

    explicit Setting(std::uint8_t choice) : role((choice & 1) != 0 ? Role::Server : Role::Client) {
        limits = {.frame_bytes = 2048, .message_bytes = 4096, .fragments = 8};
        if ((choice & 2) == 0) return;
        bool drop = (choice & 4) != 0;
        auto bits = static_cast<std::uint8_t>(8 + (choice >> 3 & 7));
        deflate = DeflateParameters{drop, drop, bits, bits};
    }
};

// One line an event.
std::string receive(const Setting& setting, std::string_view stream, std::size_t part_bytes) {
    Receiver receiver(setting.role, setting.limits, setting.deflate);
    std::string seen;
    while (!stream.empty()) {
        Bytes bytes = as_bytes(stream.substr(0, part_bytes));
        stream.remove_prefix(bytes.size());
        for (;;) {
            Event event = receiver.receive(bytes);
            if (event.kind == Event::Kind::NeedMore) break;
            seen += std::to_string(static_cast<int>(event.kind)) + ' ' +
                    std::to_string(static_cast<int>(event.type)) + ' ' +
                    std::to_string(event.close_code) + ' ';
            seen += event.payload;
            seen += '\n';
            bool is_text = event.kind == Event::Kind::Message && event.type == MessageType::Text;
            WEFT_ASSERT(!is_text || is_utf8(event.payload));
            WEFT_ASSERT(event.payload.size() <= setting.limits.message_bytes);
        }
        WEFT_ASSERT(bytes.empty());
    }
    return seen;
}

void check_round_trip(const Setting& setting, std::string_view input) {
    Role other = setting.role == Role::Server ? Role::Client : Role::Server;
    Sender sender(setting.role, {.deflate = setting.deflate,
                                 .compress_from_bytes = 4,
                                 .frame_bytes = 700,
                                 .mask_key = [] { return std::uint32_t{0x9a3f7c21}; }});
    Receiver receiver(other, setting.limits, setting.deflate);
    for (std::string_view rest = input; !rest.empty();) {
        // The first byte of what is left says how long the message is.
        auto size = static_cast<std::uint8_t>(rest.front());
        rest.remove_prefix(1);
        std::string_view payload = rest.substr(0, std::size_t{size} * 8);
        rest.remove_prefix(payload.size());
        MessageType type = is_utf8(payload) ? MessageType::Text : MessageType::Binary;
        std::string out;
        WEFT_ASSERT(sender.message(out, type, payload));
        WEFT_ASSERT(sender.ping(out, payload.substr(0, 125)));
        Bytes bytes = as_bytes(out);
        Event event = receiver.receive(bytes);
        WEFT_ASSERT(event.kind == Event::Kind::Message && event.type == type);
        WEFT_ASSERT(event.payload == payload);
        event = receiver.receive(bytes);
        WEFT_ASSERT(event.kind == Event::Kind::Ping && event.payload == payload.substr(0, 125));
        WEFT_ASSERT(bytes.empty());
    }
}

void check_handshake(std::string_view field) {
    if (is_key(field)) WEFT_ASSERT(field.size() == 24);
    auto agreement = accept_deflate(field);
    if (agreement && *agreement) {
        // An answer is an offer that repeats itself.
        auto again = accept_deflate((*agreement)->answer);
        WEFT_ASSERT(again && *again);
        WEFT_ASSERT((*again)->parameters.server_max_window_bits ==
                    (*agreement)->parameters.server_max_window_bits);
    }
    static_cast<void>(check_deflate_answer(field, DeflateParameters()));
}

}  // namespace
}  // namespace weft::http::wire::websocket

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace weft::http::wire::websocket;
    if (size == 0) return 0;
    Setting setting(bytes[0]);
    std::string_view input(reinterpret_cast<const char*>(bytes) + 1, size - 1);
    std::string whole = receive(setting, input, size);
    WEFT_ASSERT(receive(setting, input, 1) == whole);
    WEFT_ASSERT(receive(setting, input, 3 + (bytes[0] >> 6)) == whole);
    check_round_trip(setting, input);
    check_handshake(input);
    return 0;
}
