// Fetches a URL:  http_client <url>      prints the status, the fields and the body
#include <array>
#include <cstdio>

#include "weft/fiber/runtime.h"
#include "weft/http/client/client.h"

namespace http = weft::http;

static weft::Result<void> fetch(const char* url) {
    http::Client client;
    auto response = WEFT_TRY(client.get(url));
    std::printf("%u from %s\n", response.status, response.url.to_string().c_str());
    for (const auto& field : response.headers) {
        std::printf("%.*s: %.*s\n", static_cast<int>(field.name.size()), field.name.data(),
                    static_cast<int>(field.value.size()), field.value.data());
    }
    std::printf("\n");
    std::array<std::byte, 16 * 1024> piece;
    for (;;) {  // piece by piece: it may be larger than memory
        std::size_t count = WEFT_TRY(response.body().read(piece));
        if (count == 0) return {};
        std::fwrite(piece.data(), 1, count, stdout);
    }
}

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: http_client <url>\n");
        return 2;
    }
    auto fetched = weft::run([&] { return fetch(arguments[1]); });
    if (!fetched) std::fprintf(stderr, "http_client: %s\n", fetched.error().message().c_str());
    return fetched ? 0 : 1;
}
