// A web server over TLS:  https_hello CERTIFICATE KEY [address]      (127.0.0.1:8443)
//
// openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout site.key
//     -out site.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1
// https_hello site.pem site.key
// curl --cacert site.pem https://127.0.0.1:8443/
#include <cstdio>
#include <memory>
#include <string>

#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/net/tls/tls_config.h"

namespace http = weft::http;
namespace net = weft::net;
namespace tls = weft::net::tls;

static weft::Result<http::Response> answer(http::Request&, weft::async::Context&) {
    return http::Response::text("hello, in private\n");
}

static weft::Result<void> serve(const tls::Identity& identity, const std::string& where) {
    net::Address address = WEFT_TRY(net::Address::parse(where));
    auto context = std::make_shared<tls::ServerContext>(
        WEFT_TRY(tls::ServerContext::create({.identities = {identity}, .alpn = {"http/1.1"}})));
    http::Server server(answer);
    net::Address bound = WEFT_TRY(server.listen_tls(address, context));
    auto drain = WEFT_TRY(weft::on_drain([&] { server.drain(); }));
    std::printf("https://%s/   (end with Ctrl-C)\n", bound.to_string().c_str());
    std::fflush(stdout);
    return server.serve();
}

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: https_hello CERTIFICATE KEY [ADDRESS]\n");
        return 2;
    }
    tls::Identity identity{.certificate = {.file = arguments[1]}, .key = {.file = arguments[2]}};
    auto ended =
        weft::run([&] { return serve(identity, count > 3 ? arguments[3] : "127.0.0.1:8443"); });
    if (!ended) std::fprintf(stderr, "https_hello: %s\n", ended.error().message().c_str());
    return ended ? 0 : 1;
}
