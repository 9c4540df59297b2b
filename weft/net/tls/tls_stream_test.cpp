#include "weft/net/tls/tls_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/async/group.h"
#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/testing/tls_peers.h"

namespace weft::net::tls {
namespace {

using namespace weft::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 >> 3);
    return text;
}

// ---------------------------------------------------------------- handshakes that fail

TEST(TlsHandshake, NET_2_plain_text_and_garbage_are_refused_and_others_go_on) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        for (std::string_view text :
             {std::string_view("GET / HTTP/1.1\r\nHost: example.test\r\n\r\n"),
              std::string_view("\x16\x03\x01\x00\x05nonsense", 13),
              std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0", 12)}) {
            RawClient client = WEFT_TRY(raw_client(contexts.server, in_ten_seconds()));
            WEFT_TRY(client.socket.write_all(as_bytes(text)));
            client.socket.shutdown_write().value();
            EXPECT_EQ(kind_of(client.server.join(in_ten_seconds())), ErrorKind::Tls);
        }
        return exchange(peers);
    });
}

TEST(TlsHandshake, NET_2_plain_http_is_called_so) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        RawClient client = WEFT_TRY(raw_client(contexts.server, in_ten_seconds()));
        WEFT_TRY(client.socket.write_all(as_bytes("GET / HTTP/1.1\r\n\r\n")));
        EXPECT_THAT(message_of(client.server.join(in_ten_seconds())), HasSubstr("http request"));
        return {};
    });
}

TEST(TlsHandshake, NET_2_a_silent_client_ends_at_the_deadline) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        RawClient client = WEFT_TRY(raw_client(contexts.server, Deadline::after(milliseconds(20))));
        EXPECT_EQ(kind_of(client.server.join(in_ten_seconds())), ErrorKind::TimedOut);
        EXPECT_EQ(WEFT_TRY(read_text(client.socket, 1)), "");  // and is closed
        return {};
    });
}

TEST(TlsHandshake, NET_2_a_hello_that_is_cut_off_anywhere_is_an_error) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string hello = WEFT_TRY(client_hello(contexts.client));
        for (std::size_t size = 0; size <= hello.size(); size += size < 16 ? 1 : 37) {
            RawClient client = WEFT_TRY(raw_client(contexts.server, in_ten_seconds()));
            WEFT_TRY(client.socket.write_all(as_bytes(hello).first(size)));
            WEFT_TRY(client.socket.shutdown_write());
            Result<std::unique_ptr<TlsStream>> server = client.server.join(in_ten_seconds());
            EXPECT_EQ(kind_of(server), ErrorKind::Tls);
            EXPECT_THAT(message_of(server),
                        HasSubstr("tls handshake with a peer without an address: the peer closed"));
        }
        return {};
    });
}

TEST(TlsHandshake, NET_2_half_a_hello_waits_until_the_deadline) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string hello = WEFT_TRY(client_hello(contexts.client));
        // Long enough for the half to be written before.
        RawClient client =
            WEFT_TRY(raw_client(contexts.server, Deadline::after(milliseconds(500))));
        WEFT_TRY(client.socket.write_all(as_bytes(hello).first(hello.size() / 2)));
        EXPECT_EQ(kind_of(client.server.join(in_ten_seconds())), ErrorKind::TimedOut);
        return {};
    });
}

TEST(TlsHandshake, NET_2_a_handshake_can_be_cancelled) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string hello = WEFT_TRY(client_hello(contexts.client));
        for (std::size_t said : {std::size_t(0), hello.size() / 2, hello.size()}) {
            CancelSource source;
            RawClient client = [&] {
                CancelScope scope(source.token());
                return raw_client(contexts.server, in_ten_seconds()).value();
            }();
            WEFT_TRY(client.socket.write_all(as_bytes(hello).first(said)));
            for (int i = 0; i < 100; ++i) yield();
            source.cancel();
            EXPECT_EQ(kind_of(client.server.join(in_ten_seconds())), ErrorKind::Cancelled);
        }
        return {};
    });
}

TEST(TlsHandshake, NET_2_a_server_that_is_no_tls_server_is_an_error) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        auto sockets = WEFT_TRY(Socket::make_pair());
        WEFT_TRY(sockets.second.write_all(as_bytes("HTTP/1.1 400 Bad Request\r\n\r\n")));
        auto client = TlsStream::connect(std::make_unique<Socket>(std::move(sockets.first)),
                                         contexts.client, "example.test", in_ten_seconds());
        EXPECT_EQ(kind_of(client), ErrorKind::Tls);
        EXPECT_THAT(message_of(client), HasSubstr("wrong version number"));
        return {};
    });
}

// ---------------------------------------------------------------- the end

TEST(TlsStream, NET_2_the_end_that_was_announced_is_no_error) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        WEFT_TRY(peers.client->write_all(as_bytes("last words")));
        peers.client->close();
        EXPECT_EQ(WEFT_TRY(read_text(*peers.server, 100)), "last words");
        std::byte space[1];
        EXPECT_EQ(WEFT_TRY(peers.server->read(space)), 0U);
        EXPECT_EQ(WEFT_TRY(peers.server->read(space)), 0U);
        EXPECT_EQ(kind_of(peers.client->read(space)), ErrorKind::Closed);
        EXPECT_EQ(kind_of(peers.client->write_all(as_bytes("x"))), ErrorKind::Closed);
        return {};
    });
}

TEST(TlsStream, NET_2_a_stream_that_is_cut_off_is_an_error) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        WEFT_TRY(peers.client->write_all(as_bytes("abc")));
        // As if somebody in between had cut the connection: the client sends no close_notify.
        EXPECT_EQ(::shutdown(peers.client->descriptor().fd(), SHUT_WR), 0);
        EXPECT_EQ(WEFT_TRY(read_text(*peers.server, 3)), "abc");
        std::byte space[1];
        for (int i = 0; i < 2; ++i) {
            Result<std::size_t> count = peers.server->read(space, in_ten_seconds());
            EXPECT_EQ(kind_of(count), ErrorKind::Tls);
            EXPECT_THAT(message_of(count), HasSubstr("without close_notify"));
        }
        // The other direction is unharmed.
        WEFT_TRY(peers.server->write_all(as_bytes("def")));
        EXPECT_EQ(WEFT_TRY(read_text(*peers.client, 3)), "def");
        return {};
    });
}

TEST(TlsStream, NET_2_one_direction_ends_and_the_other_goes_on) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        WEFT_TRY(peers.client->write_all(as_bytes("question")));
        WEFT_TRY(peers.client->shutdown_write());
        EXPECT_EQ(kind_of(peers.client->write_all(as_bytes("more"))), ErrorKind::Closed);
        EXPECT_EQ(WEFT_TRY(read_text(*peers.server, 100)), "question");
        WEFT_TRY(peers.server->write_all(as_bytes("answer")));
        WEFT_TRY(peers.server->shutdown_write());
        EXPECT_EQ(WEFT_TRY(read_text(*peers.client, 100)), "answer");
        return {};
    });
}

TEST(TlsStream, NET_2_closing_wakes_who_reads) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        auto reader = spawn([&] { return read_text(*peers.server, 1); });
        yield();
        peers.server->close();
        EXPECT_EQ(kind_of(reader.join(in_ten_seconds())), ErrorKind::Closed);
        return {};
    });
}

TEST(TlsStream, NET_3i_NET_2_a_record_that_was_changed_is_an_error) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        // A record of application data: type 23, version, 32 bytes.
        std::string forged = std::string("\x17\x03\x03\0\x20", 5) + std::string(32, 'x');
        EXPECT_GT(::send(peers.client->descriptor().fd(), forged.data(), forged.size(), 0), 0);
        Result<std::string> text = read_text(*peers.server, 1);
        EXPECT_EQ(kind_of(text), ErrorKind::Tls);
        EXPECT_THAT(message_of(text), HasSubstr("bad record mac"));
        EXPECT_EQ(kind_of(peers.server->write_all(as_bytes("x"))), ErrorKind::Tls);
        return {};
    });
}

// ---------------------------------------------------------------- bytes

TEST(TlsStream, NET_2_large_messages_in_many_parts_arrive_whole) {
    in_runtime(2, []() -> Result<void> {
        for (Protocol maximum : {Protocol::Tls12, Protocol::Tls13}) {
            Contexts contexts = WEFT_TRY(Contexts::create({.maximum = maximum}));
            Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
            std::string text = pattern(3'000'000);
            auto writer = spawn([&]() -> Result<void> {
                Bytes bytes = as_bytes(text);
                std::vector<Bytes> parts;
                std::size_t size = 0;
                while (!bytes.empty()) {
                    std::size_t count = std::min(size, bytes.size());
                    parts.push_back(bytes.first(count));
                    bytes = bytes.subspan(count);
                    size = (size * 5 + 3) % 70'001;  // none, few and many
                }
                return peers.server->write_all(parts, in_ten_seconds());
            });
            EXPECT_TRUE(WEFT_TRY(read_text(*peers.client, text.size())) == text);
            WEFT_TRY(writer.join(in_ten_seconds()));
        }
        return {};
    });
}

TEST(TlsStream, NET_2_both_directions_are_busy_at_once) {
    in_runtime(4, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        // Many times what the sockets hold: a reader that waited for its writer would be seen.
        std::string text = pattern(8'000'000);
        auto send = [&](Stream& stream) {
            return stream.write_all(as_bytes(text), in_ten_seconds());
        };
        auto receive = [&](Stream& stream) -> Result<void> {
            EXPECT_TRUE(WEFT_TRY(read_text(stream, text.size())) == text);
            return {};
        };
        async::Group group;
        WEFT_TRY(group.go([&] { return send(*peers.server); }));
        WEFT_TRY(group.go([&] { return send(*peers.client); }));
        WEFT_TRY(group.go([&] { return receive(*peers.server); }));
        WEFT_TRY(group.go([&] { return receive(*peers.client); }));
        return group.wait();
    });
}

TEST(TlsStream, NET_2_what_try_write_takes_arrives_once) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        std::string text = pattern(5'000'000);
        Bytes rest = as_bytes(text);
        // Until the sockets are full; then the reader begins, and write_all goes on in the middle.
        while (!rest.empty()) {
            std::size_t count = WEFT_TRY(peers.server->try_write(std::span(&rest, 1)));
            if (count == 0) break;
            rest = rest.subspan(count);
        }
        EXPECT_FALSE(rest.empty());
        auto reader = spawn([&] { return read_text(*peers.client, text.size()); });
        for (int i = 0; i < 1000 && rest.size() > 1'000'000; ++i) {
            Bytes parts[] = {rest.first(10), rest.subspan(10)};
            std::size_t count = WEFT_TRY(peers.server->try_write(parts));
            rest = rest.subspan(count);
            if (count == 0) WEFT_TRY(peers.server->descriptor().wait_writable(in_ten_seconds()));
        }
        WEFT_TRY(peers.server->write_all(rest, in_ten_seconds()));
        EXPECT_TRUE(WEFT_TRY(reader.join(in_ten_seconds())) == text);
        return {};
    });
}

TEST(TlsStream, NET_2_a_write_that_timed_out_leaves_whole_records) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        std::string text = pattern(8'000'000);
        Result<void> cut =
            peers.server->write_all(as_bytes(text), Deadline::after(milliseconds(20)));
        EXPECT_EQ(kind_of(cut), ErrorKind::TimedOut);
        auto writer =
            spawn([&]() -> Result<void> { return peers.server->shutdown_write(in_ten_seconds()); });
        std::string got = WEFT_TRY(read_text(*peers.client, text.size()));
        EXPECT_GT(got.size(), 0U);
        EXPECT_TRUE(text.starts_with(got));
        return writer.join(in_ten_seconds());
    });
}

TEST(TlsStream, NET_2_try_read_gives_nothing_while_there_is_nothing) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        std::byte space[4];
        EXPECT_FALSE(WEFT_TRY(peers.server->try_read(space)));
        EXPECT_FALSE(peers.server->has_buffered());
        WEFT_TRY(peers.client->write_all(as_bytes("abcdef")));
        WEFT_TRY(peers.server->descriptor().wait_readable(in_ten_seconds()));
        EXPECT_EQ(WEFT_TRY(peers.server->try_read(space)), 4U);
        // Nothing more comes from the kernel: a wait for the descriptor would not end.
        EXPECT_TRUE(peers.server->has_buffered());
        EXPECT_EQ(WEFT_TRY(peers.server->try_read(space)), 2U);
        EXPECT_FALSE(peers.server->has_buffered());
        EXPECT_FALSE(WEFT_TRY(peers.server->try_read(space)));
        return {};
    });
}

TEST(TlsStream, NET_2_two_records_at_once_are_buffered) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        WEFT_TRY(peers.client->write_all(as_bytes("abc")));
        WEFT_TRY(peers.client->write_all(as_bytes("def")));
        std::byte space[3];
        EXPECT_EQ(WEFT_TRY(peers.server->read(space)), 3U);
        EXPECT_TRUE(peers.server->has_buffered());
        EXPECT_EQ(WEFT_TRY(peers.server->read(space)), 3U);
        EXPECT_FALSE(peers.server->has_buffered());
        return {};
    });
}

TEST(TlsStream, NET_2_half_a_record_is_not_buffered) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        std::byte space[3];
        for (std::string_view half : {std::string_view("\x17\x03"), std::string_view("\x03")}) {
            EXPECT_GT(::send(peers.client->descriptor().fd(), half.data(), half.size(), 0), 0);
            WEFT_TRY(peers.server->descriptor().wait_readable(in_ten_seconds()));
            EXPECT_FALSE(WEFT_TRY(peers.server->try_read(space)));
            EXPECT_FALSE(peers.server->has_buffered());
        }
        return {};
    });
}

TEST(TlsStream, NET_2_a_file_is_sent_and_one_that_ends_too_early_is_closed) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        TemporaryFile file(200'000);
        auto writer = spawn(
            [&]() -> Result<void> { return peers.server->send_file(file.fd(), 1000, 150'000); });
        EXPECT_TRUE(WEFT_TRY(read_text(*peers.client, 150'000)) ==
                    file.text().substr(1000, 150'000));
        WEFT_TRY(writer.join(in_ten_seconds()));
        EXPECT_EQ(kind_of(peers.server->send_file(file.fd(), 199'999, 2)), ErrorKind::Closed);
        EXPECT_EQ(WEFT_TRY(read_text(*peers.client, 1)), file.text().substr(199'999));
        return {};
    });
}

TEST(TlsStream, NET_2_a_stream_may_outlive_its_context) {
    in_runtime(2, []() -> Result<void> {
        Peers peers = WEFT_TRY([]() -> Result<Peers> {
            Contexts contexts = WEFT_TRY(Contexts::create());
            return connect_peers(contexts.server, contexts.client);
        }());
        return exchange(peers);
    });
}

TEST(TlsStream, NET_2_tls_runs_over_tls) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers outer = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        auto accepted = spawn([&]() mutable {
            return TlsStream::accept(std::move(outer.server), contexts.server, in_ten_seconds());
        });
        Peers inner;
        inner.client = WEFT_TRY(TlsStream::connect(std::move(outer.client), contexts.client,
                                                   "example.test", in_ten_seconds()));
        inner.server = WEFT_TRY(accepted.join(in_ten_seconds()));
        WEFT_TRY(exchange(inner));
        std::string text = pattern(1'000'000);
        auto writer = spawn([&] { return inner.server->write_all(as_bytes(text)); });
        EXPECT_TRUE(WEFT_TRY(read_text(*inner.client, text.size())) == text);
        return writer.join(in_ten_seconds());
    });
}

// One of many connections: it may be cancelled anywhere.
Result<void> talk(Contexts& contexts, int number) {
    auto sockets = WEFT_TRY(Socket::make_pair());
    auto below = std::make_unique<Socket>(std::move(sockets.first));
    auto server = spawn([&contexts, below = std::move(below)]() mutable -> Result<void> {
        auto stream =
            WEFT_TRY(TlsStream::accept(std::move(below), contexts.server, in_ten_seconds()));
        std::byte space[1000];
        for (;;) {
            std::size_t count = WEFT_TRY(stream->read(space, in_ten_seconds()));
            if (count == 0) return {};
            WEFT_TRY(stream->write_all(Bytes(space).first(count), in_ten_seconds()));
        }
    });
    auto client = TlsStream::connect(std::make_unique<Socket>(std::move(sockets.second)),
                                     contexts.client, "example.test", in_ten_seconds());
    Result<void> outcome = client ? Result<void>() : client.error();
    std::string text = pattern(static_cast<std::size_t>(number % 7) * 100 + 1);
    for (int i = 0; i < 10 && outcome; ++i) {
        outcome = client.value()->write_all(as_bytes(text), in_ten_seconds());
        Result<std::string> echo = outcome ? read_text(*client.value(), text.size()) : text;
        if (!echo) {
            outcome = echo.error();
            continue;
        }
        EXPECT_TRUE(text.starts_with(*echo));
        // A server that is cancelled first sends close_notify in the middle of its answer.
        if (echo->size() < text.size()) outcome = ErrorKind::Closed;
    }
    client = ErrorKind::Closed;
    Result<void> served = shield(in_ten_seconds(), [&] { return server.join(in_ten_seconds()); });
    return outcome ? served : outcome;
}

TEST(TlsStream, NET_2_many_connections_at_once_and_some_are_cancelled) {
    in_runtime(4, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::vector<CancelSource> sources(60);
        std::vector<Future<void>> talks;
        for (int i = 0; i < 60; ++i) {
            talks.push_back(spawn([&, i] {
                CancelScope scope(sources[static_cast<std::size_t>(i)].token());
                return talk(contexts, i);
            }));
        }
        for (std::size_t i = 0; i < 60; i += 3) {
            for (std::size_t j = 0; j < i; ++j) yield();
            sources[i].cancel();
        }
        for (std::size_t i = 0; i < 60; ++i) {
            Result<void> outcome = talks[i].join(in_ten_seconds());
            // Of a cancelled pair either end may have been the first to notice.
            EXPECT_TRUE(outcome || i % 3 == 0) << message_of(outcome);
        }
        return {};
    });
}

// ---------------------------------------------------------------- floods

// A client that calls OpenSSL directly, on a thread of its own, to do what TlsStream never does.
class RudeClient {
public:
    template <class Function>
    RudeClient(Socket socket, Function function)
        : thread_([fd = socket.descriptor().release(), function] {
              ::fcntl(fd, F_SETFL, 0);
              OwnedSslContext context(SSL_CTX_new(TLS_client_method()));
              OwnedSsl ssl(SSL_new(context.get()));
              SSL_set_fd(ssl.get(), fd);
              if (SSL_connect(ssl.get()) == 1) function(ssl.get());
              ::close(fd);
          }) {}
    ~RudeClient() { thread_.join(); }

private:
    std::thread thread_;
};

TEST(TlsFlood, NET_2_a_flood_of_key_updates_ends_the_connection) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        for (int kind : {SSL_KEY_UPDATE_NOT_REQUESTED, SSL_KEY_UPDATE_REQUESTED}) {
            RawClient raw = WEFT_TRY(raw_client(contexts.server, in_ten_seconds()));
            RudeClient client(std::move(raw.socket), [kind](SSL* ssl) {
                for (int i = 0; i < 100'000; ++i) {
                    if (SSL_key_update(ssl, kind) != 1 || SSL_do_handshake(ssl) != 1) return;
                }
            });
            auto server = WEFT_TRY(raw.server.join(in_ten_seconds()));
            Result<std::string> text = read_text(*server, 1);
            EXPECT_EQ(kind_of(text), ErrorKind::Limit);
            EXPECT_EQ(kind_of(read_text(*server, 1)), ErrorKind::Limit);
        }
        return {};
    });
}

TEST(TlsFlood, NET_2_key_updates_now_and_then_are_served) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        RawClient raw = WEFT_TRY(raw_client(contexts.server, in_ten_seconds()));
        RudeClient client(std::move(raw.socket), [](SSL* ssl) {
            for (int i = 0; i < 10; ++i) {
                SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
                SSL_write(ssl, "abc", 3);
                char echo[3];
                SSL_read(ssl, echo, 3);
            }
            SSL_shutdown(ssl);
        });
        auto server = WEFT_TRY(raw.server.join(in_ten_seconds()));
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(WEFT_TRY(read_text(*server, 3)), "abc");
            WEFT_TRY(server->write_all(as_bytes("def"), in_ten_seconds()));
        }
        EXPECT_EQ(WEFT_TRY(read_text(*server, 1)), "");
        return {};
    });
}

TEST(TlsFlood, NET_2_a_client_cannot_renegotiate) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create({.maximum = Protocol::Tls12}));
        RawClient raw = WEFT_TRY(raw_client(contexts.server, in_ten_seconds()));
        Atomic<int> renegotiated{0};
        {
            RudeClient client(std::move(raw.socket), [&](SSL* ssl) {
                bool done = SSL_renegotiate(ssl) == 1 && SSL_do_handshake(ssl) == 1;
                // Relaxed: read after the thread has ended.
                renegotiated.store(done ? 1 : 2, std::memory_order_relaxed);
            });
            auto server = WEFT_TRY(raw.server.join(in_ten_seconds()));
            static_cast<void>(read_text(*server, 1));
        }
        EXPECT_EQ(renegotiated.load(std::memory_order_relaxed), 2);
        return {};
    });
}

}  // namespace
}  // namespace weft::net::tls
