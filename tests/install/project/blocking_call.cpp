// A client that blocks its thread asks a server of the same runtime, which has one worker: in
// blocking() it holds nobody up.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/fiber/blocking.h>
#include <weft/fiber/runtime.h>
#include <weft/http/request.h>
#include <weft/http/server/server.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

using weft::Result;
namespace http = weft::http;

namespace {

std::string ask(std::uint16_t port) {
    int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
    constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    std::string answer;
    char part[512];
    if (::write(fd, kRequest.data(), kRequest.size()) < 0) return {};
    for (long count; (count = ::read(fd, part, sizeof part)) > 0;)
        answer.append(part, static_cast<std::size_t>(count));
    ::close(fd);
    return answer;
}

Result<int> serve_and_ask() {
    http::Server server(
        [](http::Request&, weft::async::Context&) { return http::Response::text("answered"); });
    auto address = WEFT_TRY(server.listen(weft::net::Address::loopback(0)));
    auto serving = server.start();
    int answered = 0;
    for (int i = 0; i < 10; ++i) {
        std::string answer = WEFT_TRY(weft::blocking([&] { return ask(address.port()); }));
        answered += answer.ends_with("answered");
    }
    server.close();
    WEFT_TRY(serving.join());
    return answered;
}

}  // namespace

int main() {
    auto outcome = weft::run(serve_and_ask, {.workers = 1});
    std::printf("blocking call: %d of 10 answered\n", outcome.value_or(0));
    return outcome && *outcome == 10 ? 0 : 1;
}
