// A reverse proxy:  weft_proxy --listen 127.0.0.1:8080 --upstream 127.0.0.1:9000
#include <cstdio>
#include <string>
#include <string_view>

#include "weft/fiber/cancel.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/server/server.h"

namespace http = weft::http;
namespace net = weft::net;

static constexpr const char* kUsage =
    "weft_proxy [options]\n"
    "  --listen ADDRESS      where clients come to: 127.0.0.1:8080, [::]:80, unix:/run/proxy.sock\n"
    "  --upstream SERVER     where requests go to: 127.0.0.1:9000, https://example.org,\n"
    "                        unix:/run/app.sock; may be given several times\n"
    "  --balance HOW         round-robin (the default), least-requests, client-address\n"
    "  --health-path PATH    asked of each upstream every five seconds\n"
    "  --replace-host        upstreams see their own name in Host\n"
    "  --half-close          clients may close their side and still wait for the response\n"
    "WEFT_WORKERS sets the number of threads.\n";

struct Settings {
    net::Address listen = net::Address::loopback(8080);
    http::ProxyOptions proxy;
    http::ServerOptions server;
};

static bool set(Settings& settings, std::string_view name, const std::string& value) {
    if (name == "--listen") {
        auto address = net::Address::parse(value);
        if (address) settings.listen = *address;
        return address.has_value();
    }
    if (name == "--upstream") {
        bool is_whole = value.starts_with("unix:") || value.find("://") != std::string::npos;
        settings.proxy.upstreams.push_back(is_whole ? value : "http://" + value);
        return true;
    }
    if (name == "--balance") {
        if (value == "least-requests") settings.proxy.balance = http::Balance::LeastRequests;
        if (value == "client-address") settings.proxy.balance = http::Balance::ClientAddress;
        return value == "round-robin" || settings.proxy.balance != http::Balance::RoundRobin;
    }
    if (name != "--health-path") return false;
    settings.proxy.health.check_path = value;
    return value.starts_with('/');
}

static int fail(std::string_view what, const std::string& why) {
    std::fprintf(stderr, "weft_proxy: %s%s\n", std::string(what).c_str(), why.c_str());
    return 2;
}

static weft::Result<void> serve(const Settings& settings, http::ReverseProxy& proxy) {
    http::Server server(proxy.handler(), settings.server);
    net::Address bound = WEFT_TRY(server.listen(settings.listen));
    weft::CancelSource checks = weft::CancelSource::detached();
    weft::DrainHook drain = WEFT_TRY(weft::on_drain([&] {
        server.drain();
        checks.cancel();
    }));
    auto checking = weft::spawn([&] {
        weft::CancelScope scope(checks.token());
        return proxy.check_health();
    });
    std::printf("weft_proxy listens on %s\n", bound.to_string().c_str());
    std::fflush(stdout);
    auto ended = server.serve();
    checks.cancel();
    static_cast<void>(checking.join());
    return ended;
}

int main(int count, char** arguments) {
    Settings settings;
    for (int index = 1; index < count; ++index) {
        std::string name = arguments[index];
        if (name == "--help") return std::fputs(kUsage, stdout) < 0;
        if (name == "--replace-host") {
            settings.proxy.host = http::HostField::Replace;
        } else if (name == "--half-close") {
            settings.server.half_close = http::HalfClose::IsAllowed;
        } else if (index + 1 == count || !set(settings, name, arguments[index + 1])) {
            return fail("bad option, see --help: ", name);
        } else {
            ++index;
        }
    }
    if (count == 1) return std::fputs(kUsage, stdout) < 0;
    auto proxy = http::ReverseProxy::create(settings.proxy);
    if (!proxy) return fail("", proxy.error().message());
    auto ended = weft::run([&] { return serve(settings, *proxy); });
    return ended ? 0 : fail("cannot serve: ", ended.error().message());
}
