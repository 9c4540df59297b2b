// Two ends of a TLS connection, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/net/socket.h"
#include "weft/net/tls/testing/certificates.h"
#include "weft/net/tls/tls_stream.h"
#include "weft/testing/sockets.h"

namespace weft::testing {

using net::TlsStream;
using net::tls::ClientConfig;
using net::tls::ClientContext;
using net::tls::ServerConfig;
using net::tls::ServerContext;
using net::tls::TestAuthority;

template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message();
}

struct Handshake {
    Result<std::unique_ptr<TlsStream>> server;
    Result<std::unique_ptr<TlsStream>> client;
};

// Runs the handshake of both ends; either may fail.
inline Handshake shake_hands(ServerContext& server, ClientContext& client,
                             std::string_view host = "example.test") {
    auto sockets = Socket::make_pair();
    if (!sockets) return {sockets.error(), sockets.error()};
    auto below = std::make_unique<Socket>(std::move(sockets->first));
    auto accepted = spawn([&server, below = std::move(below)]() mutable {
        return TlsStream::accept(std::move(below), server, in_ten_seconds());
    });
    Result<std::unique_ptr<TlsStream>> connected = TlsStream::connect(
        std::make_unique<Socket>(std::move(sockets->second)), client, host, in_ten_seconds());
    return {accepted.join(in_ten_seconds()), std::move(connected)};
}

struct Peers {
    std::unique_ptr<TlsStream> server;
    std::unique_ptr<TlsStream> client;
};

inline Result<Peers> connect_peers(ServerContext& server, ClientContext& client,
                                   std::string_view host = "example.test") {
    Handshake handshake = shake_hands(server, client, host);
    Peers peers;
    peers.server = WEFT_TRY(std::move(handshake.server));
    peers.client = WEFT_TRY(std::move(handshake.client));
    return peers;
}

inline Result<std::string> read_text(Stream& stream, std::size_t size) {
    std::string text(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
        ByteSpace rest = std::as_writable_bytes(std::span(text)).subspan(filled);
        std::size_t count = WEFT_TRY(stream.read(rest, in_ten_seconds()));
        if (count == 0) break;
        filled += count;
    }
    text.resize(filled);
    return text;
}

// Sends a message from the client to the server and one back.
inline Result<void> exchange(Peers& peers) {
    WEFT_TRY(peers.client->write_all(as_bytes("question"), in_ten_seconds()));
    EXPECT_EQ(WEFT_TRY(read_text(*peers.server, 8)), "question");
    WEFT_TRY(peers.server->write_all(as_bytes("answer"), in_ten_seconds()));
    EXPECT_EQ(WEFT_TRY(read_text(*peers.client, 6)), "answer");
    return {};
}

// A server for "example.test" and a client that trusts it.
struct Contexts {
    TestAuthority authority;
    ServerContext server;
    ClientContext client;

    static Result<Contexts> create(ServerConfig server = {}, ClientConfig client = {}) {
        TestAuthority authority;
        if (server.identities.empty()) {
            server.identities = {
                authority.issue({.names = {"DNS:example.test", "IP:127.0.0.1"}}).identity()};
        }
        if (client.authorities.is_empty()) client.authorities = authority.pem();
        ServerContext server_context = WEFT_TRY(ServerContext::create(std::move(server)));
        ClientContext client_context = WEFT_TRY(ClientContext::create(client));
        return Contexts{std::move(authority), std::move(server_context), std::move(client_context)};
    }
};

// The client's end of a connection without TLS; a fiber does the server's handshake on the other.
struct RawClient {
    Socket socket;
    Future<std::unique_ptr<TlsStream>> server;
};
inline Result<RawClient> raw_client(ServerContext& context, Deadline deadline) {
    auto sockets = WEFT_TRY(Socket::make_pair());
    auto below = std::make_unique<Socket>(std::move(sockets.first));
    return RawClient{std::move(sockets.second),
                     spawn([&context, deadline, below = std::move(below)]() mutable {
                         return TlsStream::accept(std::move(below), context, deadline);
                     })};
}

// The first bytes that a client sends.
inline Result<std::string> client_hello(ClientContext& context) {
    auto sockets = WEFT_TRY(Socket::make_pair());
    auto below = std::make_unique<Socket>(std::move(sockets.first));
    auto client = spawn([&context, below = std::move(below)]() mutable {
        return TlsStream::connect(std::move(below), context, "example.test", in_ten_seconds());
    });
    std::string text(4096, '\0');
    std::size_t count =
        WEFT_TRY(sockets.second.read(std::as_writable_bytes(std::span(text)), in_ten_seconds()));
    sockets.second.close();
    EXPECT_FALSE(client.join(in_ten_seconds()));
    return text.substr(0, count);
}

}  // namespace weft::testing
