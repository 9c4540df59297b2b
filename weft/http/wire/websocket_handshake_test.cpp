#include "weft/http/wire/websocket_handshake.h"

#include <gtest/gtest.h>

namespace weft::http::wire::websocket {
namespace {

TEST(WebSocketHandshake, HTTP_6b_a_key_is_the_base64_of_sixteen_bytes) {
    EXPECT_TRUE(is_key("dGhlIHNhbXBsZSBub25jZQ=="));
    EXPECT_TRUE(is_key(make_key({})));
    for (std::string_view text :
         {"", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25j",
          "dGhlIHNhbXBsZSBub25jZSE=", " dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ==,a",
          "dGhlIHNhbXBsZSBub25jZR==", "dGhlIHNhbXBsZSBub25j*Q=="}) {
        EXPECT_FALSE(is_key(text)) << text;
    }
}

TEST(WebSocketHandshake, HTTP_6b_the_answer_to_a_key_is_that_of_the_standard) {
    EXPECT_EQ(accept_of("dGhlIHNhbXBsZSBub25jZQ==").value(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

std::string answer_to(std::string_view offers, const DeflateParameters& wish = {}) {
    auto agreement = accept_deflate(offers, wish);
    if (!agreement) return "malformed";
    return *agreement ? (*agreement)->answer : "declined";
}

TEST(WebSocketHandshake, HTTP_6b_offers_that_are_not_understood_are_declined) {
    for (std::string_view offer :
         {"",
          "x-webkit-deflate-frame",
          "permessage-deflate2",
          "Permessage-Deflate",
          "permessage-deflate; unknown",
          "permessage-deflate; server_no_context_takeover=1",
          "permessage-deflate; client_no_context_takeover=\"\"",
          "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
          "permessage-deflate; client_max_window_bits; client_max_window_bits=10",
          "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10",
          "permessage-deflate; server_max_window_bits",
          "permessage-deflate; server_max_window_bits=7",
          "permessage-deflate; server_max_window_bits=16",
          "permessage-deflate; server_max_window_bits=08",
          "permessage-deflate; server_max_window_bits=+9",
          "permessage-deflate; server_max_window_bits=1x",
          "permessage-deflate; server_max_window_bits=010",
          "permessage-deflate; server_max_window_bits=\"\"",
          "permessage-deflate; client_max_window_bits=0",
          "permessage-deflate; client_max_window_bits=115"}) {
        EXPECT_EQ(answer_to(offer), "declined") << offer;
    }
}

TEST(WebSocketHandshake, HTTP_6b_a_malformed_list_of_extensions_is_an_error) {
    for (std::string_view field : {"permessage-deflate;", "permessage-deflate; a=", "a b", "a;b=\"",
                                   "permessage-deflate; server_max_window_bits = 10"}) {
        EXPECT_EQ(answer_to(field), "malformed") << field;
        EXPECT_FALSE(check_deflate_answer(field, DeflateParameters())) << field;
    }
}

TEST(WebSocketHandshake, HTTP_6b_a_server_takes_the_first_offer_that_it_can) {
    EXPECT_EQ(answer_to("permessage-deflate"), "permessage-deflate");
    EXPECT_EQ(answer_to("foo, permessage-deflate; bar, permessage-deflate; "
                        "server_max_window_bits=10, permessage-deflate"),
              "permessage-deflate; server_max_window_bits=10");
    EXPECT_EQ(answer_to("permessage-deflate; client_max_window_bits"), "permessage-deflate");
    EXPECT_EQ(answer_to("permessage-deflate; client_max_window_bits=\"9\""),
              "permessage-deflate; client_max_window_bits=9");
    EXPECT_EQ(answer_to("permessage-deflate; server_max_window_bits=15"),
              "permessage-deflate; server_max_window_bits=15");
    EXPECT_EQ(answer_to("permessage-deflate; server_max_window_bits=8;client_max_window_bits=8"),
              "permessage-deflate; server_max_window_bits=8; client_max_window_bits=8");
    EXPECT_EQ(answer_to("permessage-deflate; server_no_context_takeover; "
                        "client_no_context_takeover"),
              "permessage-deflate; server_no_context_takeover; client_no_context_takeover");
}

TEST(WebSocketHandshake, HTTP_6b_a_server_can_ask_for_less_than_was_offered) {
    DeflateParameters wish = {.server_no_context_takeover = true,
                              .client_no_context_takeover = true,
                              .server_max_window_bits = 10,
                              .client_max_window_bits = 11};
    EXPECT_EQ(answer_to("permessage-deflate", wish),
              "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
              "server_max_window_bits=10");
    // A client that has not said that it can be bounded is not.
    EXPECT_EQ((*accept_deflate("permessage-deflate", wish))->parameters.client_max_window_bits, 15);
    auto agreement = accept_deflate(
        "permessage-deflate; client_max_window_bits; server_max_window_bits=9", wish);
    ASSERT_TRUE(agreement && *agreement);
    EXPECT_EQ((*agreement)->parameters, (DeflateParameters{true, true, 9, 11}));
    EXPECT_EQ((*agreement)->answer,
              "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
              "server_max_window_bits=9; client_max_window_bits=11");
}

TEST(WebSocketHandshake, HTTP_6b_a_client_fails_on_an_answer_that_it_did_not_offer) {
    auto accepts = [](std::string_view answer, const std::optional<DeflateParameters>& offered) {
        return check_deflate_answer(answer, offered).has_value();
    };
    DeflateParameters any;
    EXPECT_FALSE(accepts("permessage-deflate", {}));
    EXPECT_FALSE(accepts("foo", any));
    EXPECT_FALSE(accepts("permessage-deflate, permessage-deflate", any));
    EXPECT_FALSE(accepts("permessage-deflate, foo", any));
    EXPECT_FALSE(accepts("permessage-deflate; unknown", any));
    EXPECT_FALSE(accepts("permessage-deflate; server_max_window_bits", any));
    EXPECT_FALSE(accepts("permessage-deflate; client_max_window_bits", any));
    EXPECT_FALSE(accepts("permessage-deflate; client_max_window_bits=16", any));
    DeflateParameters small = {true, true, 10, 10};
    EXPECT_FALSE(accepts("permessage-deflate", small));
    EXPECT_FALSE(accepts("permessage-deflate; server_max_window_bits=10", small));
    EXPECT_FALSE(accepts("permessage-deflate; server_no_context_takeover", small));
    EXPECT_FALSE(accepts(
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=11", small));
    EXPECT_FALSE(
        accepts("permessage-deflate; server_no_context_takeover; "
                "server_max_window_bits=10; client_max_window_bits=11",
                small));
}

TEST(WebSocketHandshake, HTTP_6b_both_sides_agree_on_every_wish) {
    EXPECT_EQ(deflate_offer(), "permessage-deflate; client_max_window_bits");
    for (std::optional<DeflateParameters> offered : {std::optional(DeflateParameters()), {}}) {
        auto declined = check_deflate_answer("", offered);
        ASSERT_TRUE(declined);
        EXPECT_FALSE(*declined);
    }
    for (unsigned i = 0; i < 16 * 64; ++i) {
        DeflateParameters client = {(i & 1) != 0, (i & 2) != 0,
                                    static_cast<std::uint8_t>(8 + (i >> 4 & 7)),
                                    static_cast<std::uint8_t>(8 + (i >> 7 & 7))};
        DeflateParameters server = {(i & 4) != 0, (i & 8) != 0, 12, 10};
        auto agreement = accept_deflate(deflate_offer(client), server);
        ASSERT_TRUE(agreement && *agreement);
        auto checked = check_deflate_answer((*agreement)->answer, client);
        ASSERT_TRUE(checked && *checked) << (*agreement)->answer;
        EXPECT_EQ(**checked, (*agreement)->parameters) << (*agreement)->answer;
    }
}

}  // namespace
}  // namespace weft::http::wire::websocket
