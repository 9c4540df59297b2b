#include "weft/http/wire/websocket_handshake.h"

#include <algorithm>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/http/wire/base64.h"
#include "weft/http/wire/list_field.h"
#include "weft/http/wire/sha1.h"

namespace weft::http::wire::websocket {
namespace {

constexpr std::string_view kDeflate = "permessage-deflate";
constexpr std::uint8_t kWindowBitsMin = 8;
constexpr std::uint8_t kWindowBitsMax = 15;

// The parameters of one offer or answer, as they were written.
struct Written {
    bool server_no_context_takeover = false;
    bool client_no_context_takeover = false;
    std::optional<std::uint8_t> server_max_window_bits;
    std::optional<std::uint8_t> client_max_window_bits;
    bool client_window = false;  // client_max_window_bits, with a value or without
};

// RFC 7692 §7.1.2: 8 to 15, without leading zeros.
std::optional<std::uint8_t> parse_window_bits(std::string_view text) {
    if (text.empty() || text.size() > 2 || text.front() == '0') return {};
    unsigned value = 0;
    for (char digit : text) {
        if (digit < '0' || digit > '9') return {};
        value = value * 10 + static_cast<unsigned>(digit - '0');
    }
    if (value < kWindowBitsMin || value > kWindowBitsMax) return {};
    return static_cast<std::uint8_t>(value);
}

bool set_once(bool& flag, const ListParameter& parameter) {
    if (flag || parameter.value) return false;
    return flag = true;
}

// RFC 7692 §7.1: nothing for a parameter that is unknown, stands twice or has a wrong value.
std::optional<Written> read_parameters(const ListMember& member) {
    Written written;
    for (const ListParameter& parameter : member.parameters) {
        if (parameter.name == "server_no_context_takeover") {
            if (!set_once(written.server_no_context_takeover, parameter)) return {};
        } else if (parameter.name == "client_no_context_takeover") {
            if (!set_once(written.client_no_context_takeover, parameter)) return {};
        } else if (parameter.name == "server_max_window_bits") {
            if (written.server_max_window_bits || !parameter.value) return {};
            written.server_max_window_bits = parse_window_bits(*parameter.value);
            if (!written.server_max_window_bits) return {};
        } else if (parameter.name == "client_max_window_bits") {
            if (written.client_window) return {};
            written.client_window = true;
            if (!parameter.value) continue;
            written.client_max_window_bits = parse_window_bits(*parameter.value);
            if (!written.client_max_window_bits) return {};
        } else {
            return {};
        }
    }
    return written;
}

std::string write_parameters(const Written& written) {
    WEFT_ASSERT(!written.client_max_window_bits || written.client_window);
    std::string text(kDeflate);
    if (written.server_no_context_takeover) text += "; server_no_context_takeover";
    if (written.client_no_context_takeover) text += "; client_no_context_takeover";
    if (written.server_max_window_bits) {
        text += "; server_max_window_bits=" + std::to_string(*written.server_max_window_bits);
    }
    if (written.client_window) text += "; client_max_window_bits";
    if (written.client_max_window_bits) {
        text += '=' + std::to_string(*written.client_max_window_bits);
    }
    return text;
}

DeflateAgreement agree(const Written& offer, const DeflateParameters& wish) {
    DeflateParameters agreed = {
        .server_no_context_takeover =
            offer.server_no_context_takeover || wish.server_no_context_takeover,
        .client_no_context_takeover =
            offer.client_no_context_takeover || wish.client_no_context_takeover,
        .server_max_window_bits = std::min(offer.server_max_window_bits.value_or(kWindowBitsMax),
                                           wish.server_max_window_bits),
        // RFC 7692 §7.1.2.2: a client that does not mention it cannot be bounded.
        .client_max_window_bits =
            offer.client_window ? std::min(offer.client_max_window_bits.value_or(kWindowBitsMax),
                                           wish.client_max_window_bits)
                                : kWindowBitsMax,
    };
    Written answer = {.server_no_context_takeover = agreed.server_no_context_takeover,
                      .client_no_context_takeover = agreed.client_no_context_takeover,
                      .server_max_window_bits = {},
                      .client_max_window_bits = {},
                      .client_window = agreed.client_max_window_bits < kWindowBitsMax};
    if (offer.server_max_window_bits || agreed.server_max_window_bits < kWindowBitsMax) {
        answer.server_max_window_bits = agreed.server_max_window_bits;
    }
    if (answer.client_window) answer.client_max_window_bits = agreed.client_max_window_bits;
    return {agreed, write_parameters(answer)};
}

Error malformed() {
    return Error(ErrorKind::Other, "the Sec-WebSocket-Extensions field is malformed");
}

}  // namespace

std::string make_key(const std::array<std::byte, 16>& nonce) { return base64_encode(nonce); }

bool is_key(std::string_view text) {
    std::optional<std::string> nonce = base64_decode(text);
    return nonce && nonce->size() == 16;
}

// RFC 6455 §4.2.2, step 5.4.
Result<std::string> accept_of(std::string_view key) {
    std::string text(key);
    text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<std::byte, 20> digest = WEFT_TRY(sha1(as_bytes(text)));
    return base64_encode(digest);
}

Result<std::optional<DeflateAgreement>> accept_deflate(std::string_view offers,
                                                       const DeflateParameters& wish) {
    std::optional<std::vector<ListMember>> members = parse_list_field(offers);
    if (!members) return malformed();
    for (const ListMember& member : *members) {
        if (member.name != kDeflate) continue;
        // RFC 7692 §7.1: an offer that cannot be understood is declined; the next one may do.
        if (auto offer = read_parameters(member)) return std::optional(agree(*offer, wish));
    }
    return std::optional<DeflateAgreement>();
}

std::string deflate_offer(const DeflateParameters& wish) {
    Written offer = {.server_no_context_takeover = wish.server_no_context_takeover,
                     .client_no_context_takeover = wish.client_no_context_takeover,
                     .server_max_window_bits = {},
                     .client_max_window_bits = {},
                     .client_window = true};
    if (wish.server_max_window_bits < kWindowBitsMax) {
        offer.server_max_window_bits = wish.server_max_window_bits;
    }
    if (wish.client_max_window_bits < kWindowBitsMax) {
        offer.client_max_window_bits = wish.client_max_window_bits;
    }
    return write_parameters(offer);
}

Result<std::optional<DeflateParameters>> check_deflate_answer(
    std::string_view answer, const std::optional<DeflateParameters>& offered) {
    std::optional<std::vector<ListMember>> members = parse_list_field(answer);
    if (!members) return malformed();
    if (members->empty()) return std::optional<DeflateParameters>();
    Error refused(ErrorKind::Other, "the server answers with an extension that was not offered");
    if (!offered || members->size() > 1 || members->front().name != kDeflate) return refused;
    std::optional<Written> written = read_parameters(members->front());
    if (!written) return refused;
    // RFC 7692 §7.1.1.1, §7.1.2.1: who accepts an offer with these repeats them.
    if (offered->server_no_context_takeover && !written->server_no_context_takeover) return refused;
    std::uint8_t server_bits = written->server_max_window_bits.value_or(kWindowBitsMax);
    if (server_bits > offered->server_max_window_bits) return refused;
    // RFC 7692 §7.1.2.2: in an answer it has a value.
    if (written->client_window && !written->client_max_window_bits) return refused;
    std::uint8_t client_bits =
        written->client_max_window_bits.value_or(offered->client_max_window_bits);
    if (client_bits > offered->client_max_window_bits) return refused;
    return std::optional(DeflateParameters{
        .server_no_context_takeover = written->server_no_context_takeover,
        .client_no_context_takeover =
            written->client_no_context_takeover || offered->client_no_context_takeover,
        .server_max_window_bits = server_bits,
        .client_max_window_bits = client_bits,
    });
}

}  // namespace weft::http::wire::websocket
