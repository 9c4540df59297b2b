#include "weft/http/wire/websocket.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace weft::http::wire::websocket {
namespace {

using namespace std::literals;

constexpr int kFinal = 0x80;
constexpr int kRsv1 = 0x40;
constexpr int kText = 1;
constexpr int kBinary = 2;
constexpr int kClose = 8 | kFinal;
constexpr int kPing = 9 | kFinal;
constexpr int kPong = 10 | kFinal;

std::string head(int first_byte, std::uint64_t length, int mask_bit) {
    std::string text(1, static_cast<char>(first_byte));
    int bytes = length < 126 ? 0 : length <= 0xffff ? 2 : 8;
    text += static_cast<char>(mask_bit | (bytes == 0   ? static_cast<int>(length)
                                          : bytes == 2 ? 126
                                                       : 127));
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(length >> (8 * i));
    return text;
}

// As a server sends it.
std::string bare(int first_byte, std::string_view payload = {}) {
    return head(first_byte, payload.size(), 0) + std::string(payload);
}

// As a client sends it.
std::string frame(int first_byte, std::string_view payload = {}) {
    constexpr std::string_view kKey = "\x37\xfa\x21\x3d";
    std::string text = head(first_byte, payload.size(), 0x80) + std::string(kKey);
    for (std::size_t i = 0; i < payload.size(); ++i) {
        text += static_cast<char>(payload[i] ^ kKey[i % 4]);
    }
    return text;
}

std::string close_payload(int code, std::string_view reason = {}) {
    std::string text = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
    return text += reason;
}

// A long run of one character is written as "x*1000".
std::string shortened(std::string_view text) {
    if (text.size() < 100 || text.find_first_not_of(text[0]) != text.npos) return std::string(text);
    return text[0] + ("*" + std::to_string(text.size()));
}

std::string describe(const Event& event) {
    switch (event.kind) {
    case Event::Kind::NeedMore: return "";
    case Event::Kind::Message:
        return (event.type == MessageType::Text ? "text(" : "binary(") + shortened(event.payload) +
               ") ";
    case Event::Kind::Ping: return "ping(" + std::string(event.payload) + ") ";
    case Event::Kind::Pong: return "pong(" + std::string(event.payload) + ") ";
    case Event::Kind::Close:
        return "close(" + std::to_string(event.close_code) + ',' + std::string(event.payload) +
               ") ";
    case Event::Kind::Failed: return "failed(" + std::to_string(event.close_code) + ") ";
    }
    return "?";
}

struct Side {
    Role role = Role::Server;
    Limits limits = {};
    std::optional<DeflateParameters> deflate = {};
};

std::string events_in_parts(const Side& side, std::string_view stream, std::size_t part_bytes) {
    Receiver receiver(side.role, side.limits, side.deflate);
    std::string seen;
    while (!stream.empty()) {
        Bytes bytes = as_bytes(stream.substr(0, part_bytes));
        stream.remove_prefix(bytes.size());
        for (;;) {
            Event event = receiver.receive(bytes);
            if (event.kind == Event::Kind::NeedMore) break;
            seen += describe(event);
        }
        EXPECT_TRUE(bytes.empty());
    }
    return seen;
}

// What a receiver says of the stream; the same however it is cut.
std::string events(std::string_view stream, const Side& side = {}) {
    std::string seen = events_in_parts(side, stream, stream.size() + 1);
    for (std::size_t part_bytes : {1, 2, 3, 7, 1000}) {
        if (part_bytes < 7 && stream.size() > 100'000) continue;
        EXPECT_EQ(events_in_parts(side, stream, part_bytes), seen) << part_bytes;
    }
    return seen;
}

// --- What is refused. ---

TEST(WebSocketReceiver, HTTP_6b_reserved_bits_fail_the_connection) {
    for (int bits = 0x10; bits <= 0x70; bits += 0x10) {
        EXPECT_EQ(
            events(frame(kText | kFinal, "a") + frame(kText | kFinal | bits, "b") + frame(kPing)),
            "text(a) failed(1002) ");
        EXPECT_EQ(events(frame(kPing | bits)), "failed(1002) ");
        EXPECT_EQ(events(frame(kClose | bits)), "failed(1002) ");
    }
    Side deflated{.deflate = DeflateParameters()};
    EXPECT_EQ(events(frame(kText | kFinal | 0x20, "b"), deflated), "failed(1002) ");
    EXPECT_EQ(events(frame(kPing | kRsv1), deflated), "failed(1002) ");
    EXPECT_EQ(events(frame(kText, "a") + frame(kFinal | kRsv1, "b"), deflated), "failed(1002) ");
}

TEST(WebSocketReceiver, HTTP_6b_reserved_opcodes_fail_the_connection) {
    for (int opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
        EXPECT_EQ(events(frame(kText | kFinal, "a") + frame(opcode | kFinal, "b")),
                  "text(a) failed(1002) ");
        EXPECT_EQ(events(frame(opcode)), "failed(1002) ");
    }
}

TEST(WebSocketReceiver, HTTP_6b_who_masks_is_decided_by_the_role) {
    EXPECT_EQ(events(bare(kText | kFinal, "a")), "failed(1002) ");
    EXPECT_EQ(events(frame(kText | kFinal, "a"), {.role = Role::Client}), "failed(1002) ");
    EXPECT_EQ(events(bare(kText | kFinal, "a"), {.role = Role::Client}), "text(a) ");
}

TEST(WebSocketReceiver, HTTP_6b_control_frames_are_small_and_whole) {
    EXPECT_EQ(events(frame(kPing, std::string(125, 'x'))), "ping(" + std::string(125, 'x') + ") ");
    for (int opcode : {kClose, kPing, kPong}) {
        EXPECT_EQ(events(frame(opcode, std::string(126, 'x'))), "failed(1002) ");
        EXPECT_EQ(events(frame(opcode & ~kFinal, "x")), "failed(1002) ");
        EXPECT_EQ(events(frame(opcode & ~kFinal) + frame(kFinal)), "failed(1002) ");
    }
}

TEST(WebSocketReceiver, HTTP_6b_a_length_is_written_as_short_as_it_can_be) {
    Side client{.role = Role::Client};
    EXPECT_EQ(events("\x82\x7e\0\x7d"s + std::string(125, 'x'), client), "failed(1002) ");
    EXPECT_EQ(events("\x82\x7e\0\x7e"s + std::string(126, 'x'), client), "binary(x*126) ");
    EXPECT_EQ(events("\x82\x7f\0\0\0\0\0\0\xff\xff"s, client), "failed(1002) ");
    EXPECT_EQ(events("\x82\x7f\0\0\0\0\0\1\0\0"s + std::string(65536, 'x'), client),
              "binary(x*65536) ");
    EXPECT_EQ(events("\x82\x7f\x80\0\0\0\0\1\0\0"s, client), "failed(1002) ");
    EXPECT_EQ(events("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"s, client), "failed(1009) ");
}

TEST(WebSocketReceiver, HTTP_6b_fragments_without_a_message_or_with_two_fail_the_connection) {
    EXPECT_EQ(events(frame(kFinal, "a")), "failed(1002) ");
    EXPECT_EQ(events(frame(0, "a")), "failed(1002) ");
    EXPECT_EQ(events(frame(kText, "a") + frame(kText | kFinal, "b")), "failed(1002) ");
    EXPECT_EQ(events(frame(kBinary, "a") + frame(kText, "b")), "failed(1002) ");
    EXPECT_EQ(events(frame(kText | kFinal, "a") + frame(kFinal, "b")), "text(a) failed(1002) ");
    EXPECT_EQ(events(frame(kText, "a") + frame(kFinal, "b") + frame(kFinal, "c")),
              "text(ab) failed(1002) ");
}

TEST(WebSocketReceiver, HTTP_6b_each_limit_is_answered_with_too_big) {
    Side small{.limits = {.frame_bytes = 10, .message_bytes = 20, .fragments = 3}};
    std::string ten(10, 'x');
    EXPECT_EQ(events(frame(kBinary | kFinal, ten), small), "binary(xxxxxxxxxx) ");
    // By its head alone.
    EXPECT_EQ(events(head(kBinary | kFinal, 11, 0x80) + "1234", small), "failed(1009) ");
    EXPECT_EQ(events(frame(kBinary, ten) + frame(kFinal, ten), small),
              "binary(" + ten + ten + ") ");
    EXPECT_EQ(events(frame(kBinary, ten) + frame(0, ten) + head(kFinal, 1, 0x80) + "1234", small),
              "failed(1009) ");
    EXPECT_EQ(events(frame(kText) + frame(0) + frame(kFinal), small), "text() ");
    EXPECT_EQ(events(frame(kText) + frame(0) + frame(0) + frame(kPing) + frame(0), small),
              "ping() failed(1009) ");
    // Each message counts anew.
    EXPECT_EQ(events(frame(kText) + frame(0) + frame(kFinal) + frame(kText) + frame(0) +
                         frame(kFinal, ten) + frame(kBinary | kFinal, ten),
                     small),
              "text() text(" + ten + ") binary(" + ten + ") ");
}

TEST(WebSocketReceiver, HTTP_6b_invalid_text_fails_in_the_middle_of_a_message) {
    EXPECT_EQ(events(frame(kText | kFinal, "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5")),
              "text(\u03ba\u1f79\u03c3\u03bc\u03b5) ");
    // The frame and the message go on, but the receiver does not wait for them.
    std::string cut = frame(kText, "\xce\xba\xf4\x90" + std::string(20, 'x'));
    EXPECT_EQ(events(cut.substr(0, 6 + 3)), "");
    EXPECT_EQ(events(cut.substr(0, 6 + 4)), "failed(1007) ");
    // A character over two frames, with a ping between.
    EXPECT_EQ(
        events(frame(kText, "\xf0\x9f") + frame(kPing, "p") + frame(0) + frame(kFinal, "\x98\x80")),
        "ping(p) text(\U0001F600) ");
    EXPECT_EQ(events(frame(kText, "\xf0\x9f") + frame(kFinal, "x\x98\x80")), "failed(1007) ");
    EXPECT_EQ(events(frame(kText, "\xf0\x9f") + frame(kFinal)), "failed(1007) ");
    EXPECT_EQ(events(frame(kText | kFinal, "a\xed\xa0\x80z")), "failed(1007) ");
    EXPECT_EQ(events(frame(kBinary | kFinal, "\xff\xfe")), "binary(\xff\xfe) ");
    // An incomplete character of one message is not completed by the next.
    EXPECT_EQ(events(frame(kText | kFinal, "a") + frame(kText | kFinal, "\x80")),
              "text(a) failed(1007) ");
}

TEST(WebSocketReceiver, HTTP_6b_a_close_has_a_valid_code_and_a_reason_of_utf8) {
    EXPECT_EQ(events(frame(kClose)), "close(1005,) ");
    EXPECT_EQ(events(frame(kClose, "x")), "failed(1002) ");
    EXPECT_EQ(events(frame(kClose, close_payload(1000, "\u03ba"))), "close(1000,\u03ba) ");
    EXPECT_EQ(events(frame(kClose, close_payload(1000, std::string(123, 'x')))),
              "close(1000," + std::string(123, 'x') + ") ");
    EXPECT_EQ(events(frame(kClose, close_payload(1000, "\xce"))), "failed(1007) ");
    EXPECT_EQ(events(frame(kClose, close_payload(1000, "\xed\xa0\x80"))), "failed(1007) ");
    for (int code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000,
                     3999, 4000, 4999}) {
        EXPECT_EQ(events(frame(kClose, close_payload(code))),
                  "close(" + std::to_string(code) + ",) ");
    }
    for (int code : {0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
        EXPECT_EQ(events(frame(kClose, close_payload(code))), "failed(1002) ") << code;
    }
}

TEST(WebSocketReceiver, HTTP_6b_what_comes_after_a_close_or_a_failure_is_dropped) {
    EXPECT_EQ(events(frame(kClose, close_payload(1000)) + frame(kText | kFinal, "a") +
                     frame(kPing) + frame(kClose) + "\xff\xff\xff"),
              "close(1000,) ");
    EXPECT_EQ(events(frame(kText, "a") + frame(kClose) + frame(kFinal, "b")), "close(1005,) ");
    EXPECT_EQ(events(frame(3) + frame(kText | kFinal, "a")), "failed(1002) ");
}

// --- What is given. ---

TEST(WebSocketReceiver, HTTP_6b_messages_of_every_length_are_given_whole) {
    for (std::size_t size : {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 125, 126, 127, 128, 65535, 65536}) {
        std::string payload(size, '*');
        std::string expected = shortened(payload);
        EXPECT_EQ(events(frame(kText | kFinal, payload)), "text(" + expected + ") ");
        EXPECT_EQ(events(frame(kBinary | kFinal, payload)), "binary(" + expected + ") ");
        EXPECT_EQ(events(bare(kText | kFinal, payload), {.role = Role::Client}),
                  "text(" + expected + ") ");
    }
    // An example of RFC 6455 §5.7.
    EXPECT_EQ(events("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s), "text(Hello) ");
}

TEST(WebSocketReceiver, HTTP_6b_control_frames_come_between_fragments) {
    EXPECT_EQ(events(frame(kText, "fragment1") + frame(kPing, "ping") + frame(0) +
                     frame(kPong, "unasked") + frame(kFinal, "fragment2") + frame(kPing)),
              "ping(ping) pong(unasked) text(fragment1fragment2) ping() ");
}

TEST(WebSocketReceiver, HTTP_6b_a_message_can_be_taken_without_a_copy) {
    Receiver receiver(Role::Server);
    std::string stream =
        frame(kBinary | kFinal, std::string(100'000, 'x')) + frame(kText | kFinal, "next");
    Bytes bytes = as_bytes(stream);
    Event event = receiver.receive(bytes);
    const char* place = event.payload.data();
    std::string taken = receiver.take_message();
    EXPECT_EQ(taken.data(), place);
    EXPECT_EQ(taken.size(), 100'000);
    EXPECT_EQ(describe(receiver.receive(bytes)), "text(next) ");
}

TEST(WebSocketReceiver, HTTP_6b_masks_are_applied_from_any_place) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 7);
    std::uint32_t key = 0;
    std::memcpy(&key, "\1\2\4\x80", 4);
    for (std::size_t size = 0; size <= text.size(); ++size) {
        for (std::size_t offset = 0; offset < 5; ++offset) {
            std::string masked = text.substr(0, size);
            apply_mask(std::as_writable_bytes(std::span(masked)), key, offset);
            for (std::size_t i = 0; i < size; ++i) {
                ASSERT_EQ(masked[i], static_cast<char>(text[i] ^ "\1\2\4\x80"[(i + offset) % 4]));
            }
        }
    }
}

// --- Compression. ---

// A text that refers far back: blocks that repeat at every distance up to 40,000.
std::string repetitive(std::size_t bytes) {
    std::string text;
    std::uint32_t state = 1;
    while (text.size() < bytes) {
        state = state * 1664525 + 1013904223;
        std::size_t distance = (state >> 8) % 40'000;
        if (distance > text.size() || (state >> 28) == 0) {
            text += std::to_string(state);
        } else {
            text += text.substr(text.size() - distance, 20 + (state >> 26));
        }
    }
    text.resize(bytes);
    return text;
}

std::uint32_t test_key() { return 0x01020304; }

TEST(WebSocketDeflate, HTTP_6b_the_examples_of_the_standard_are_read) {  // RFC 7692 §7.2.3
    Side client{.role = Role::Client, .deflate = DeflateParameters()};
    std::string hello = "\xf2\x48\xcd\xc9\xc9\x07\x00"s;
    EXPECT_EQ(events(bare(kText | kFinal | kRsv1, hello), client), "text(Hello) ");
    EXPECT_EQ(events(bare(kText | kRsv1, hello.substr(0, 3)) + bare(kPing) +
                         bare(kFinal, hello.substr(3)),
                     client),
              "ping() text(Hello) ");
    // Twice with the context, stored, last block, two blocks, empty.
    EXPECT_EQ(
        events(bare(kText | kFinal | kRsv1, hello) +
                   bare(kText | kFinal | kRsv1, "\xf2\x00\x11\x00\x00"s) +
                   bare(kText | kFinal | kRsv1, "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s) +
                   bare(kText | kFinal | kRsv1, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s) +
                   bare(kText | kFinal | kRsv1,
                        "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s) +
                   bare(kText | kFinal | kRsv1, "\0"s) + bare(kText | kFinal, "plain"),
               client),
        "text(Hello) text(Hello) text(Hello) text(Hello) text(Hello) text() text(plain) ");
}

TEST(WebSocketDeflate, HTTP_6b_corrupt_and_cut_off_messages_fail_the_connection) {
    Side client{.role = Role::Client, .deflate = DeflateParameters()};
    EXPECT_EQ(events(bare(kBinary | kFinal | kRsv1, "\xff\xff\xff\xff"), client), "failed(1007) ");
    EXPECT_EQ(events(bare(kBinary | kFinal | kRsv1), client), "failed(1007) ");
    std::string hello = "\xf2\x48\xcd\xc9\xc9\x07\x00"s;
    EXPECT_EQ(events(bare(kBinary | kFinal | kRsv1, hello.substr(0, 5)), client), "failed(1007) ");
    // Text that is not UTF-8 once it is decompressed, and before the message has ended.
    std::string stored = "\x00\x04\x00\xfb\xff"s + "ab\xffz";
    EXPECT_EQ(events(bare(kText | kRsv1, stored), client), "failed(1007) ");
    // Without takeover a message cannot refer to the one before.
    Side dropping{.role = Role::Client, .deflate = DeflateParameters{true, true, 15, 15}};
    EXPECT_EQ(events(bare(kText | kFinal | kRsv1, hello) +
                         bare(kText | kFinal | kRsv1, "\xf2\x00\x11\x00\x00"s),
                     dropping),
              "text(Hello) failed(1007) ");
}

TEST(WebSocketDeflate, HTTP_6b_a_bomb_is_stopped_at_the_limit_of_a_message) {
    std::string zeros(100'000, '\0');
    std::string out;
    Sender sender(Role::Server, {.deflate = DeflateParameters()});
    ASSERT_TRUE(sender.message(out, MessageType::Binary, zeros));
    ASSERT_LT(out.size(), 1000);
    Side client{.role = Role::Client, .deflate = DeflateParameters()};
    client.limits.message_bytes = 100'000;
    EXPECT_EQ(events(out, client), "binary(" + shortened(zeros) + ") ");
    client.limits.message_bytes = 99'999;
    EXPECT_EQ(events(out, client), "failed(1009) ");
}

TEST(WebSocketDeflate, HTTP_6b_who_sets_no_limit_gets_messages_all_the_same) {
    std::string message(100'000, 'x');
    std::string bytes;
    Sender sender(Role::Server, {.deflate = DeflateParameters()});
    ASSERT_TRUE(sender.message(bytes, MessageType::Binary, message));
    Side client{.role = Role::Client,
                .limits = {.frame_bytes = SIZE_MAX, .message_bytes = SIZE_MAX},
                .deflate = DeflateParameters()};
    EXPECT_EQ(events(bytes, client), "binary(x*100000) ");
}

TEST(WebSocketDeflate, HTTP_6b_every_window_and_takeover_comes_back_both_ways) {
    std::string text = repetitive(100'000);
    std::vector<std::string_view> messages = {"",   text, "again", std::string_view(text).substr(1),
                                              text, ""};
    for (unsigned i = 0; i < 16; ++i) {
        auto bits = static_cast<std::uint8_t>(8 + i / 2);
        DeflateParameters deflate = {(i & 1) != 0, (i & 1) != 0, bits, bits};
        for (Role role : {Role::Server, Role::Client}) {
            Sender sender(role, {.deflate = deflate,
                                 .compress_from_bytes = 0,
                                 .frame_bytes = 10'000,
                                 .mask_key = test_key});
            Receiver receiver(role == Role::Server ? Role::Client : Role::Server, {}, deflate);
            for (std::string_view message : messages) {
                std::string out;
                ASSERT_TRUE(sender.message(out, MessageType::Text, message));
                ASSERT_TRUE(sender.ping(out, "between"));
                if (message.size() > 1000) {
                    EXPECT_LT(out.size(), message.size());
                }
                Bytes bytes = as_bytes(out);
                Event event = receiver.receive(bytes);
                ASSERT_EQ(event.kind, Event::Kind::Message) << event.payload;
                ASSERT_EQ(event.payload, message) << int(bits);
                ASSERT_EQ(describe(receiver.receive(bytes)), "ping(between) ");
            }
        }
    }
}

TEST(WebSocketDeflate, HTTP_6b_a_window_of_eight_bits_is_kept_to_though_zlib_has_none) {
    std::string out;
    Compressor compressor(Context::Keep, 8, 9);
    std::string text = repetitive(200'000);
    ASSERT_TRUE(compressor.compress(as_bytes(text), out));
    ASSERT_LT(out.size(), text.size());
    // One of 256 bytes and no more. It looks at distances that reach behind what one call makes.
    Decompressor decompressor(Context::Keep, 8);
    std::string back;
    for (char byte : out) {
        ASSERT_TRUE(decompressor.add(as_bytes(std::string_view(&byte, 1)), back, text.size()));
    }
    ASSERT_TRUE(decompressor.finish(back, text.size()));
    EXPECT_EQ(back, text);
    // So does it see a larger one?
    Compressor larger(Context::Keep, 10, 9);
    out.clear();
    ASSERT_TRUE(larger.compress(as_bytes(text), out));
    bool seen = false;
    for (char byte : out) {
        back.clear();
        seen = !decompressor.add(as_bytes(std::string_view(&byte, 1)), back, text.size());
        if (seen) break;
    }
    EXPECT_TRUE(seen);
}

// --- Sending. ---

TEST(WebSocketSender, HTTP_6b_what_must_not_be_sent_is_misuse) {
    Sender sender(Role::Server);
    std::string out;
    auto kind = [](const Result<void>& result) {
        return result ? ErrorKind::Other : result.error().kind();
    };
    EXPECT_EQ(kind(sender.message(out, MessageType::Text, "\xff")), ErrorKind::Misuse);
    EXPECT_EQ(kind(sender.ping(out, std::string(126, 'x'))), ErrorKind::Misuse);
    EXPECT_EQ(kind(sender.pong(out, std::string(126, 'x'))), ErrorKind::Misuse);
    EXPECT_EQ(kind(sender.close(out, 1000, std::string(124, 'x'))), ErrorKind::Misuse);
    EXPECT_EQ(kind(sender.close(out, 1000, "\xff")), ErrorKind::Misuse);
    EXPECT_EQ(kind(sender.close(out, 1005, "reason")), ErrorKind::Misuse);
    EXPECT_EQ(kind(sender.close(out, 1006)), ErrorKind::Misuse);
    EXPECT_EQ(kind(sender.close(out, 0)), ErrorKind::Misuse);
    EXPECT_EQ(out, "");
}

TEST(WebSocketSender, HTTP_6b_frames_are_those_of_the_standard) {  // RFC 6455 §5.7
    Sender server(Role::Server);
    std::string out;
    ASSERT_TRUE(server.message(out, MessageType::Text, "Hello"));
    EXPECT_EQ(out, "\x81\x05Hello");
    out.clear();
    Sender client(Role::Client, {.mask_key = [] {
                      std::uint32_t key = 0;
                      std::memcpy(&key, "\x37\xfa\x21\x3d", 4);
                      return key;
                  }});
    ASSERT_TRUE(client.message(out, MessageType::Text, "Hello"));
    EXPECT_EQ(out, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    out.clear();
    ASSERT_TRUE(server.close(out, close_code::kNoStatus));
    ASSERT_TRUE(server.close(out, 1000, "bye"));
    ASSERT_TRUE(server.ping(out));
    ASSERT_TRUE(server.pong(out, "x"));
    EXPECT_EQ(out, bare(kClose) + bare(kClose, close_payload(1000, "bye")) + bare(kPing) +
                       bare(kPong, "x"));
}

TEST(WebSocketSender, HTTP_6b_messages_larger_than_a_frame_are_sent_in_fragments) {
    Sender sender(Role::Server, {.frame_bytes = 4});
    std::string out;
    ASSERT_TRUE(sender.message(out, MessageType::Text, "abcdefghij"));
    ASSERT_TRUE(sender.message(out, MessageType::Binary, "abcd"));
    ASSERT_TRUE(sender.message(out, MessageType::Binary, ""));
    EXPECT_EQ(out, bare(kText, "abcd") + bare(0, "efgh") + bare(kFinal, "ij") +
                       bare(kBinary | kFinal, "abcd") + bare(kBinary | kFinal));
    out.clear();
    // With what both sides do by default, a message as large as allowed goes through.
    std::string large(Limits().message_bytes, 'x');
    ASSERT_TRUE(Sender(Role::Server).message(out, MessageType::Text, large));
    EXPECT_EQ(events_in_parts({.role = Role::Client}, out, 60'000), "text(x*4194304) ");
}

TEST(WebSocketSender, HTTP_6b_small_messages_are_not_compressed) {
    Sender sender(Role::Server, {.deflate = DeflateParameters(), .compress_from_bytes = 100});
    std::string out;
    ASSERT_TRUE(sender.message(out, MessageType::Text, std::string(99, 'x')));
    EXPECT_EQ(out, bare(kText | kFinal, std::string(99, 'x')));
    out.clear();
    ASSERT_TRUE(sender.message(out, MessageType::Text, std::string(100, 'x')));
    EXPECT_LT(out.size(), 20);
    EXPECT_EQ(out[0], static_cast<char>(kText | kFinal | kRsv1));
}

}  // namespace
}  // namespace weft::http::wire::websocket
