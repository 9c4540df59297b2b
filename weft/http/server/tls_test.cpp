// The server over TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "weft/http/internal/server_test.h"
#include "weft/http/server/server.h"
#include "weft/net/tls/testing/certificates.h"
#include "weft/net/tls/tls_stream.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;
using net::TlsStream;
using ::testing::EndsWith;
using testing::kPatience;
using testing::RawClient;
using ::testing::StartsWith;
using weft::testing::eventually;
namespace tls = net::tls;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

class TlsServer : public ::testing::Test {
protected:
    void start(ServerOptions options = {}) {
        context_ = std::make_shared<tls::ServerContext>(
            tls::ServerContext::create({.identities = {first_.identity()}, .alpn = {"http/1.1"}})
                .value());
        server_ = std::make_unique<Server>(
            [](Request& request, Context&) {
                return Response::text(std::string(request.tls()->server_name) + " " +
                                      std::string(request.tls()->alpn));
            },
            std::move(options));
        address_ =
            runtime_.spawn([&] { return server_->listen_tls(net::Address::loopback(0), context_); })
                .join()
                .value();
        serving_ = runtime_.spawn([&] { return server_->serve(); });
    }
    void TearDown() override {
        server_->close();
        EXPECT_TRUE(serving_.join(Deadline::after(kPatience)));
    }

    Result<std::unique_ptr<TlsStream>> connect() {
        auto client =
            tls::ClientContext::create({.authorities = authority_.pem(), .alpn = {"http/1.1"}});
        auto socket = WEFT_TRY(net::Socket::connect(address_));
        return TlsStream::connect(std::make_unique<net::Socket>(std::move(socket)), *client,
                                  "a.test", Deadline::after(kPatience));
    }
    static std::string ask(net::Stream& stream) {
        EXPECT_TRUE(stream.write_all(as_bytes(kGet)));
        std::array<std::byte, 4096> space;
        auto count = stream.read(space, Deadline::after(kPatience));
        return count ? std::string(as_text(std::span(space).first(*count)))
                     : count.error().message();
    }

    tls::TestAuthority authority_;
    tls::TestIdentity first_ = authority_.issue({.names = {"DNS:a.test"}});
    Runtime runtime_{{.workers = 2}};
    std::shared_ptr<tls::ServerContext> context_;
    std::unique_ptr<Server> server_;
    net::Address address_;
    Future<void> serving_;
};

TEST_F(TlsServer, HTTP_1_a_request_over_tls_is_answered_and_the_connection_kept) {
    start();
    auto stream = connect();
    ASSERT_TRUE(stream) << stream.error().message();
    for (int round = 0; round < 3; ++round) EXPECT_THAT(ask(**stream), EndsWith("a.test http/1.1"));
    // Asleep it owns no fiber.
    EXPECT_TRUE(eventually([&] { return runtime_.live_fibers() == 1; }));
    EXPECT_THAT(ask(**stream), EndsWith("a.test http/1.1"));
}

TEST_F(TlsServer, NET_2_a_plain_text_probe_harms_nobody) {
    start();
    auto stream = connect();
    ASSERT_TRUE(stream);
    RawClient probe(address_);
    probe.send(kGet);
    probe.read_to_end();
    EXPECT_THAT(ask(**stream), EndsWith("a.test http/1.1"));
    EXPECT_TRUE(eventually([&] { return server_->connections() == 1; }));
}

TEST_F(TlsServer, NET_2_a_silent_handshake_is_cut_off_and_delays_nobody) {
    ServerOptions options;
    options.limits.handshake = 2s;  // that is enough for one who speaks
    options.limits.header_time = 2s;
    start(options);
    RawClient silent(address_);
    RawClient half(address_);
    half.send(std::string_view("\x16\x03\x01\x02\x00\x01\x00", 7));
    auto stream = connect();
    ASSERT_TRUE(stream);
    EXPECT_THAT(ask(**stream), EndsWith("a.test http/1.1"));
    EXPECT_TRUE(silent.is_ended());
    half.read_to_end();
    EXPECT_TRUE(eventually([&] { return server_->connections() == 1; }));
}

TEST_F(TlsServer, NET_2_certificates_are_reloaded_without_dropping_connections) {
    start();
    auto before = connect();
    ASSERT_TRUE(before);
    tls::TestIdentity second = authority_.issue({.names = {"DNS:b.test"}});
    ASSERT_TRUE(context_->reload({second.identity()}));
    EXPECT_THAT(ask(**before), EndsWith("a.test http/1.1"));
    EXPECT_EQ(connect().error().kind(), ErrorKind::Tls);
    ASSERT_TRUE(context_->reload({first_.identity(), second.identity()}));
    auto after = connect();
    ASSERT_TRUE(after);
    EXPECT_THAT(ask(**after), EndsWith("a.test http/1.1"));
}

TEST_F(TlsServer, HTTP_4_drain_ends_idle_tls_connections) {
    start();
    auto stream = connect();
    ASSERT_TRUE(stream);
    EXPECT_THAT(ask(**stream), StartsWith("HTTP/1.1 200 "));
    server_->drain();
    std::array<std::byte, 64> space;
    // A clean end: with close_notify.
    EXPECT_EQ((*stream)->read(space, Deadline::after(kPatience)), 0U);
}

}  // namespace
}  // namespace weft::http
