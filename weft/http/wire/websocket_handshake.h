// The part of WebSocket's opening handshake (RFC 6455 §4) that is not HTTP: keys, and the agreement
// on the extension permessage-deflate (RFC 7692). Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/result.h"

namespace weft::http::wire::websocket {

// Sec-WebSocket-Key of 16 random bytes.
std::string make_key(const std::array<std::byte, 16>& nonce);
// Whether it is the base64 of 16 bytes, which a server must check.
bool is_key(std::string_view text);
// Sec-WebSocket-Accept for that key. Unavailable without SHA-1.
Result<std::string> accept_of(std::string_view key);

// How messages are compressed in each direction (RFC 7692 §7.1). As a wish: upper bounds of what is
// agreed on.
struct DeflateParameters {
    bool server_no_context_takeover = false;
    bool client_no_context_takeover = false;
    std::uint8_t server_max_window_bits = 15;  // 8 to 15
    std::uint8_t client_max_window_bits = 15;

    friend bool operator==(const DeflateParameters&, const DeflateParameters&) = default;
};

struct DeflateAgreement {
    DeflateParameters parameters;
    std::string answer;  // Sec-WebSocket-Extensions of the response
};
// Server: accepts the first acceptable offer of a Sec-WebSocket-Extensions field; nothing if there
// is none. An error if the field is malformed: the request is to be refused.
Result<std::optional<DeflateAgreement>> accept_deflate(std::string_view offers,
                                                       const DeflateParameters& wish = {});

// Client: Sec-WebSocket-Extensions of a request that offers permessage-deflate.
std::string deflate_offer(const DeflateParameters& wish = {});
// Client: what the server has accepted of that offer, by its Sec-WebSocket-Extensions field;
// nothing if it declined. An error if it answers what was not offered: the connection is to be
// failed.
Result<std::optional<DeflateParameters>> check_deflate_answer(
    std::string_view answer, const std::optional<DeflateParameters>& offered);

}  // namespace weft::http::wire::websocket
