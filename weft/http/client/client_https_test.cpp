// https URLs with default options: no TLS context is given, and the system's authorities are
// trusted, whose files OpenSSL lets the environment name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "weft/http/client/client.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/net/resolver.h"
#include "weft/testing/sockets.h"
#include "weft/testing/tls_peers.h"

namespace weft::http {
namespace {

using namespace testing;

class ClientHttps : public ::testing::Test {
protected:
    void TearDown() override { ::unsetenv("SSL_CERT_FILE"); }
};

TEST_F(ClientHttps, HTTP_14e_https_works_without_a_word_about_tls) {
    Folder folder;
    in_runtime(2, [&]() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string authorities = folder.path() + "/authorities.pem";
        std::ofstream(authorities) << contexts.authority.pem().text;
        ::setenv("SSL_CERT_FILE", authorities.c_str(), 1);

        Server server([](Request& request, async::Context&) {
            return Response::text(std::string(request.tls()->server_name));
        });
        Address address = WEFT_TRY(server.listen_tls(
            Address::loopback(0), std::make_shared<ServerContext>(std::move(contexts.server))));
        auto serving = spawn([&] { return server.serve(); });

        auto resolver = std::make_shared<net::Resolver>(
            net::ResolverOptions{.table = {{"example.test", {net::IpAddress::loopback()}},
                                           {"other.test", {net::IpAddress::loopback()}}}});
        Client client({.resolver = resolver});
        std::string port = std::to_string(address.port());
        ClientResponse response =
            WEFT_TRY(client.get("https://example.test:" + port + "/path?query"));
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(response.read_all(), "example.test");
        EXPECT_EQ(kind_of(client.get("https://other.test:" + port + "/")), ErrorKind::Tls);
        server.close();
        return serving.join();
    });
}

}  // namespace
}  // namespace weft::http
