#include "weft/net/tls/tls_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/testing/tls_peers.h"

namespace weft::net::tls {
namespace {

using namespace weft::testing;
using ::testing::HasSubstr;

// Gives the path.
std::string write_file(const Folder& folder, const std::string& name, std::string_view text) {
    std::string path = folder.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
}

// The outcome at the client for a server that shows `identity` for example.test.
Result<void> verdict(const TestIdentity& identity, const ClientConfig& config,
                     std::string_view host = "example.test") {
    ServerContext server =
        WEFT_TRY(ServerContext::create({.identities = {identity.identity({"example.test"})}}));
    ClientContext client = WEFT_TRY(ClientContext::create(config));
    Handshake handshake = shake_hands(server, client, host);
    if (!handshake.client) {
        EXPECT_FALSE(handshake.server && handshake.server.value()->tls()->protocol == "TLSv1.2");
        return handshake.client.error();
    }
    return {};
}

// ---------------------------------------------------------------- verification

TEST(TlsVerification, NET_2_the_wrong_host_is_refused) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        TestIdentity other = authority.issue({.names = {"DNS:other.test", "DNS:*.example.test"}});
        Result<void> refused = verdict(other, {.authorities = authority.pem()});
        EXPECT_EQ(kind_of(refused), ErrorKind::Tls);
        EXPECT_THAT(message_of(refused), HasSubstr("example.test"));
        EXPECT_THAT(message_of(refused), HasSubstr("ostname mismatch"));
        return {};
    });
}

TEST(TlsVerification, NET_2_the_wrong_address_is_refused_and_the_right_one_is_not) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        TestIdentity server = authority.issue({.names = {"IP:127.0.0.1", "IP:::1"}});
        ClientConfig config{.authorities = authority.pem()};
        Result<void> refused = verdict(server, config, "127.0.0.2");
        EXPECT_EQ(kind_of(refused), ErrorKind::Tls);
        EXPECT_THAT(message_of(refused), HasSubstr("IP address mismatch"));
        WEFT_TRY(verdict(server, config, "127.0.0.1"));
        WEFT_TRY(verdict(server, config, "::1"));
        return {};
    });
}

TEST(TlsVerification, NET_2_an_expired_certificate_is_refused) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        TestIdentity expired = authority.issue({.names = {"DNS:example.test"},
                                                .valid_from_seconds = -7200,
                                                .valid_until_seconds = -3600});
        Result<void> refused = verdict(expired, {.authorities = authority.pem()});
        EXPECT_EQ(kind_of(refused), ErrorKind::Tls);
        EXPECT_THAT(message_of(refused), HasSubstr("certificate has expired"));
        TestIdentity early =
            authority.issue({.names = {"DNS:example.test"}, .valid_from_seconds = 1800});
        EXPECT_THAT(message_of(verdict(early, {.authorities = authority.pem()})),
                    HasSubstr("not yet valid"));
        return {};
    });
}

TEST(TlsVerification, NET_2_an_unknown_authority_is_refused_also_by_default) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        TestAuthority stranger("somebody else");
        TestIdentity server = stranger.issue({.names = {"DNS:example.test"}});
        Result<void> refused = verdict(server, {.authorities = authority.pem()});
        EXPECT_EQ(kind_of(refused), ErrorKind::Tls);
        EXPECT_THAT(message_of(refused), HasSubstr("unable to get local issuer certificate"));
        // No configuration at all means the authorities of the system, which have not signed it.
        EXPECT_EQ(kind_of(verdict(server, {})), ErrorKind::Tls);
        return {};
    });
}

TEST(TlsVerification, NET_2_a_self_signed_certificate_is_refused_unless_it_is_trusted) {
    in_runtime(2, []() -> Result<void> {
        TestIdentity own = TestAuthority::self_signed({.names = {"DNS:example.test"}});
        Result<void> refused = verdict(own, {});
        EXPECT_EQ(kind_of(refused), ErrorKind::Tls);
        EXPECT_THAT(message_of(refused), HasSubstr("self"));
        WEFT_TRY(verdict(own, {.authorities = {.text = own.certificate}}));
        return {};
    });
}

TEST(TlsVerification, NET_2_the_text_of_the_subject_is_no_name) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        TestIdentity old = authority.issue({.common_name = "example.test"});
        EXPECT_EQ(kind_of(verdict(old, {.authorities = authority.pem()})), ErrorKind::Tls);
        return {};
    });
}

TEST(TlsVerification, NET_2_a_wildcard_stands_for_one_label) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        TestIdentity server =
            authority.issue({.names = {"DNS:*.example.test", "DNS:x*.part.test"}});
        ClientConfig config{.authorities = authority.pem()};
        WEFT_TRY(verdict(server, config, "a.example.test"));
        EXPECT_EQ(kind_of(verdict(server, config, "example.test")), ErrorKind::Tls);
        EXPECT_EQ(kind_of(verdict(server, config, "a.b.example.test")), ErrorKind::Tls);
        EXPECT_EQ(kind_of(verdict(server, config, "xy.part.test")), ErrorKind::Tls);
        return {};
    });
}

TEST(TlsVerification, NET_2_only_an_explicit_word_turns_it_off) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority stranger;
        TestIdentity server = stranger.issue({.names = {"DNS:other.test"}});
        return verdict(server, {.verification = Verification::Insecure});
    });
}

TEST(TlsVerification, NET_2_a_host_that_is_no_name_is_refused_before_anything_is_sent) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        for (std::string_view host : {std::string_view(""), std::string_view("."),
                                      std::string_view("example.test\0.evil", 18)}) {
            auto sockets = WEFT_TRY(Socket::make_pair());
            auto client = TlsStream::connect(std::make_unique<Socket>(std::move(sockets.first)),
                                             contexts.client, host, in_ten_seconds());
            EXPECT_EQ(kind_of(client), ErrorKind::Tls);
            EXPECT_EQ(WEFT_TRY(read_text(sockets.second, 1)), "");
        }
        return {};
    });
}

// ---------------------------------------------------------------- what was agreed on

TEST(TlsContext, NET_2_the_certificate_is_chosen_by_server_name) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        auto issue = [&](const std::string& name, const std::string& common_name) {
            return authority.issue({.names = {"DNS:" + name}, .common_name = common_name});
        };
        ServerContext server = WEFT_TRY(ServerContext::create(
            {.identities = {issue("default.test", "default").identity(),
                            issue("a.example.test", "exact").identity(),
                            issue("*.example.test", "wildcard").identity()}}));
        ClientContext client = WEFT_TRY(ClientContext::create({.authorities = authority.pem()}));
        auto shown = [&](std::string_view host) -> Result<std::string> {
            Peers peers = WEFT_TRY(connect_peers(server, client, host));
            EXPECT_EQ(peers.server->tls()->server_name, host);
            return std::string(peers.client->tls()->peer_name);
        };
        EXPECT_EQ(WEFT_TRY(shown("a.example.test")), "CN=exact");
        EXPECT_EQ(WEFT_TRY(shown("b.example.test")), "CN=wildcard");
        EXPECT_EQ(WEFT_TRY(shown("B.Example.Test")), "CN=wildcard");
        EXPECT_EQ(WEFT_TRY(shown("default.test")), "CN=default");
        // Nothing matches: the default is shown, and this client does not accept it.
        EXPECT_EQ(kind_of(shown("unknown.test")), ErrorKind::Tls);
        return {};
    });
}

TEST(TlsContext, NET_2_a_literal_address_is_no_server_name) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client, "127.0.0.1"));
        EXPECT_EQ(peers.server->tls()->server_name, "");
        return exchange(peers);
    });
}

TEST(TlsContext, NET_2_alpn_is_the_servers_choice) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(
            Contexts::create({.alpn = {"h2", "http/1.1"}}, {.alpn = {"http/1.1", "x", "h2"}}));
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        EXPECT_EQ(peers.server->tls()->alpn, "h2");
        EXPECT_EQ(peers.client->tls()->alpn, "h2");
        return {};
    });
}

TEST(TlsContext, NET_2_without_a_common_protocol_the_handshake_fails) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts =
            WEFT_TRY(Contexts::create({.alpn = {"http/1.1"}}, {.alpn = {"imap", "ftp"}}));
        Handshake handshake = shake_hands(contexts.server, contexts.client);
        EXPECT_EQ(kind_of(handshake.server), ErrorKind::Tls);
        EXPECT_THAT(message_of(handshake.client), HasSubstr("no application protocol"));
        return {};
    });
}

TEST(TlsContext, NET_2_a_client_without_alpn_is_served) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create({.alpn = {"http/1.1"}}));
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        EXPECT_EQ(peers.server->tls()->alpn, "");
        return exchange(peers);
    });
}

TEST(TlsContext, NET_2_a_second_connection_is_resumed) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        for (bool resumed : {false, true, true}) {
            Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
            EXPECT_EQ(peers.client->tls()->protocol, "TLSv1.3");
            EXPECT_EQ(peers.client->tls()->resumed, resumed);
            EXPECT_EQ(peers.server->tls()->resumed, resumed);
            EXPECT_EQ(peers.client->tls()->peer_name, "CN=weft test");
            WEFT_TRY(exchange(peers));  // the tickets come with the first bytes
        }
        return {};
    });
}

TEST(TlsContext, NET_2_tls_1_2_is_resumed_as_well) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create({.maximum = Protocol::Tls12}));
        for (bool resumed : {false, true, true}) {
            Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
            EXPECT_EQ(peers.client->tls()->protocol, "TLSv1.2");
            EXPECT_EQ(peers.client->tls()->resumed, resumed);
            WEFT_TRY(exchange(peers));
        }
        return {};
    });
}

TEST(TlsContext, NET_2_another_host_is_not_resumed) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        Peers first = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        WEFT_TRY(exchange(first));
        Peers second = WEFT_TRY(connect_peers(contexts.server, contexts.client, "127.0.0.1"));
        EXPECT_FALSE(second.client->tls()->resumed);
        return {};
    });
}

TEST(TlsContext, NET_2_the_oldest_protocol_can_be_raised) {
    in_runtime(2, []() -> Result<void> {
        Contexts contexts =
            WEFT_TRY(Contexts::create({.maximum = Protocol::Tls12}, {.minimum = Protocol::Tls13}));
        Handshake handshake = shake_hands(contexts.server, contexts.client);
        EXPECT_EQ(kind_of(handshake.client), ErrorKind::Tls);
        EXPECT_EQ(kind_of(handshake.server), ErrorKind::Tls);
        return {};
    });
}

// ---------------------------------------------------------------- client certificates

class TlsClientCertificates : public ::testing::Test {
protected:
    // The outcome at the server for a client that shows `identity`.
    Result<std::string> peer_seen(ClientCertificates mode, const Identity& identity) {
        Contexts contexts = WEFT_TRY(
            Contexts::create({.client_certificates = mode, .client_authorities = trusted.pem()},
                             {.identity = identity}));
        Handshake handshake = shake_hands(contexts.server, contexts.client);
        auto server = WEFT_TRY(std::move(handshake.server));
        return std::string(server->tls()->peer_name);
    }

    TestAuthority trusted{"trusted"};
    TestAuthority stranger{"stranger"};
};

TEST_F(TlsClientCertificates, NET_2_a_required_one_that_is_missing_is_refused_on_both_sides) {
    in_runtime(2, [this]() -> Result<void> {
        Result<std::string> refused = peer_seen(ClientCertificates::Required, {});
        EXPECT_EQ(kind_of(refused), ErrorKind::Tls);
        EXPECT_THAT(message_of(refused), HasSubstr("did not return a certificate"));

        Contexts contexts =
            WEFT_TRY(Contexts::create({.client_certificates = ClientCertificates::Required,
                                       .client_authorities = trusted.pem()}));
        Handshake handshake = shake_hands(contexts.server, contexts.client);
        // In TLS 1.3 the client's handshake ends first, and its next read gets the refusal.
        std::byte space[1];
        Result<std::size_t> count = handshake.client.value()->read(space, in_ten_seconds());
        EXPECT_EQ(kind_of(count), ErrorKind::Tls);
        EXPECT_THAT(message_of(count), HasSubstr("certificate required"));
        return {};
    });
}

TEST_F(TlsClientCertificates, NET_2_one_of_a_stranger_is_refused_even_where_it_is_optional) {
    in_runtime(2, [this]() -> Result<void> {
        Identity wrong = stranger.issue({.common_name = "mallory"}).identity();
        for (ClientCertificates mode :
             {ClientCertificates::Required, ClientCertificates::Optional}) {
            Result<std::string> refused = peer_seen(mode, wrong);
            EXPECT_EQ(kind_of(refused), ErrorKind::Tls);
            EXPECT_THAT(message_of(refused), HasSubstr("the client's certificate was refused"));
        }
        return {};
    });
}

TEST_F(TlsClientCertificates, NET_2_the_right_one_is_accepted_and_named) {
    in_runtime(2, [this]() -> Result<void> {
        Identity right = trusted.issue({.common_name = "alice"}).identity();
        EXPECT_EQ(WEFT_TRY(peer_seen(ClientCertificates::Required, right)), "CN=alice");
        EXPECT_EQ(WEFT_TRY(peer_seen(ClientCertificates::Optional, right)), "CN=alice");
        EXPECT_EQ(WEFT_TRY(peer_seen(ClientCertificates::Optional, {})), "");
        EXPECT_EQ(WEFT_TRY(peer_seen(ClientCertificates::None, right)), "");
        return {};
    });
}

TEST_F(TlsClientCertificates, NET_2_a_resumed_session_still_knows_the_client) {
    in_runtime(2, [this]() -> Result<void> {
        Contexts contexts = WEFT_TRY(
            Contexts::create({.client_certificates = ClientCertificates::Required,
                              .client_authorities = trusted.pem()},
                             {.identity = trusted.issue({.common_name = "alice"}).identity()}));
        for (bool resumed : {false, true}) {
            Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
            EXPECT_EQ(peers.server->tls()->resumed, resumed);
            EXPECT_EQ(peers.server->tls()->peer_name, "CN=alice");
            WEFT_TRY(exchange(peers));
        }
        return {};
    });
}

// ---------------------------------------------------------------- files

TEST(TlsFiles, NET_2_a_broken_file_is_named) {
    Folder folder;
    TestAuthority authority;
    TestIdentity good = authority.issue({.names = {"DNS:example.test"}});
    TestIdentity other = authority.issue({.names = {"DNS:example.test"}});
    std::string certificate = write_file(folder, "good.pem", good.certificate);
    std::string key = write_file(folder, "good.key", good.key);
    std::string cut = write_file(folder, "cut.pem", good.certificate.substr(0, 200));
    std::string empty = write_file(folder, "empty.pem", "");
    std::string other_key = write_file(folder, "other.key", other.key);
    std::string half =
        write_file(folder, "half.pem", good.certificate + good.certificate.substr(0, 200));
    std::string missing = folder.path() + "/missing.pem";

    auto message = [](const std::string& certificate_file, const std::string& key_file) {
        Result<ServerContext> made =
            ServerContext::create({.identities = {{.certificate = {.file = certificate_file},
                                                   .key = {.file = key_file}}}});
        EXPECT_EQ(kind_of(made), ErrorKind::Tls);
        return message_of(made);
    };
    EXPECT_THAT(message(cut, key), HasSubstr(cut));
    EXPECT_THAT(message(half, key), HasSubstr(half));
    EXPECT_THAT(message(empty, key), HasSubstr(empty));
    EXPECT_THAT(message(missing, key), HasSubstr(missing));
    EXPECT_THAT(message(certificate, missing), HasSubstr(missing));
    EXPECT_THAT(message(certificate, certificate), HasSubstr(certificate));
    EXPECT_THAT(message(certificate, other_key), HasSubstr(other_key + " does not belong to"));
    EXPECT_TRUE(ServerContext::create(
        {.identities = {{.certificate = {.file = certificate}, .key = {.file = key}}}}));
    EXPECT_EQ(kind_of(ServerContext::create({})), ErrorKind::Tls);
}

TEST(TlsFiles, NET_2_a_key_that_is_too_short_is_refused_when_it_is_loaded) {
    TestIdentity weak = TestAuthority().issue({.names = {"DNS:example.test"}, .rsa_bits = 1024});
    Result<ServerContext> made = ServerContext::create({.identities = {weak.identity()}});
    EXPECT_EQ(kind_of(made), ErrorKind::Tls);
    EXPECT_THAT(message_of(made), HasSubstr("key too small"));
}

TEST(TlsFiles, NET_2_an_rsa_key_serves_as_well) {
    in_runtime(2, []() -> Result<void> {
        TestAuthority authority;
        TestIdentity strong = authority.issue({.names = {"DNS:example.test"}, .rsa_bits = 2048});
        return verdict(strong, {.authorities = authority.pem()});
    });
}

TEST(TlsFiles, NET_2_a_new_certificate_is_shown_to_new_connections_only) {
    in_runtime(2, []() -> Result<void> {
        Folder folder;
        TestAuthority authority;
        auto write = [&](const std::string& common_name) {
            TestIdentity issued =
                authority.issue({.names = {"DNS:example.test"}, .common_name = common_name});
            write_file(folder, "server.pem", issued.certificate);
            write_file(folder, "server.key", issued.key);
        };
        write("first");
        ServerContext server = WEFT_TRY(ServerContext::create(
            {.identities = {{.certificate = {.file = folder.path() + "/server.pem"},
                             .key = {.file = folder.path() + "/server.key"}}}}));
        ClientContext client =
            WEFT_TRY(ClientContext::create({.authorities = authority.pem(), .sessions_max = 0}));
        Peers before = WEFT_TRY(connect_peers(server, client));
        EXPECT_EQ(before.client->tls()->peer_name, "CN=first");

        write("second");
        WEFT_TRY(server.reload());
        Peers after = WEFT_TRY(connect_peers(server, client));
        EXPECT_EQ(after.client->tls()->peer_name, "CN=second");
        WEFT_TRY(exchange(before));

        // A file that is no certificate changes nothing.
        std::string broken = write_file(folder, "server.pem", "not a certificate");
        Result<void> reloaded = server.reload();
        EXPECT_EQ(kind_of(reloaded), ErrorKind::Tls);
        EXPECT_THAT(message_of(reloaded), HasSubstr(broken));
        Peers last = WEFT_TRY(connect_peers(server, client));
        EXPECT_EQ(last.client->tls()->peer_name, "CN=second");
        WEFT_TRY(exchange(before));
        WEFT_TRY(exchange(after));
        return {};
    });
}

TEST(TlsFiles, NET_2_reloading_goes_on_under_handshakes) {
    in_runtime(4, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::vector<Identity> other = {
            contexts.authority.issue({.names = {"DNS:example.test"}}).identity()};
        auto reloads = spawn([&]() -> Result<void> {
            for (int i = 0; i < 50; ++i) {
                WEFT_TRY(contexts.server.reload());
                WEFT_TRY(contexts.server.reload(other));
                yield();
            }
            return {};
        });
        for (int i = 0; i < 20; ++i) {
            Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
            WEFT_TRY(exchange(peers));
        }
        return reloads.join();
    });
}

}  // namespace
}  // namespace weft::net::tls
