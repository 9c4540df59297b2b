#include "weft/api/headers/known_names.h"

#include <array>

#include "weft/http/headers.h"

namespace weft::api {
namespace {

constexpr auto kNames = std::to_array<std::string_view>({"Accept",
                                                         "Accept-Encoding",
                                                         "Accept-Language",
                                                         "Access-Control-Allow-Credentials",
                                                         "Access-Control-Allow-Headers",
                                                         "Access-Control-Allow-Methods",
                                                         "Access-Control-Allow-Origin",
                                                         "Access-Control-Expose-Headers",
                                                         "Access-Control-Max-Age",
                                                         "Access-Control-Request-Headers",
                                                         "Access-Control-Request-Method",
                                                         "Age",
                                                         "Allow",
                                                         "Authorization",
                                                         "Cache-Control",
                                                         "Connection",
                                                         "Content-Disposition",
                                                         "Content-Encoding",
                                                         "Content-Language",
                                                         "Content-Length",
                                                         "Content-Range",
                                                         "Content-Security-Policy",
                                                         "Content-Type",
                                                         "Cookie",
                                                         "Date",
                                                         "ETag",
                                                         "Expires",
                                                         "Forwarded",
                                                         "Host",
                                                         "If-Match",
                                                         "If-Modified-Since",
                                                         "If-None-Match",
                                                         "Keep-Alive",
                                                         "Last-Modified",
                                                         "Link",
                                                         "Location",
                                                         "Origin",
                                                         "Pragma",
                                                         "Range",
                                                         "Referer",
                                                         "Retry-After",
                                                         "Server",
                                                         "Server-Timing",
                                                         "Set-Cookie",
                                                         "Strict-Transport-Security",
                                                         "Trailer",
                                                         "Transfer-Encoding",
                                                         "Upgrade",
                                                         "User-Agent",
                                                         "Vary",
                                                         "Via",
                                                         "WWW-Authenticate",
                                                         "X-Content-Type-Options",
                                                         "X-Forwarded-For",
                                                         "X-Forwarded-Host",
                                                         "X-Forwarded-Proto",
                                                         "X-Frame-Options",
                                                         "X-Powered-By",
                                                         "X-Real-IP",
                                                         "X-Request-Id",
                                                         "X-Requested-With"});

constexpr std::size_t kPlaces = 256;
constexpr std::uint8_t kFree = 0xFF;
static_assert(kNames.size() < kFree && kNames.size() * 2 < kPlaces);

// Length, last letter and middle letter tell nearly all of them apart.
constexpr std::size_t place_of(std::string_view name) {
    auto folded = [](char c) { return static_cast<std::size_t>(c | 0x20); };
    std::size_t last = folded(name.back());
    std::size_t middle = folded(name[name.size() / 2]);
    return (name.size() * 41 + last * 7 + middle) % kPlaces;
}

constexpr std::array<std::uint8_t, kPlaces> make_places() {
    std::array<std::uint8_t, kPlaces> places{};
    places.fill(kFree);
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        std::size_t place = place_of(kNames[i]);
        while (places[place] != kFree) place = (place + 1) % kPlaces;
        places[place] = static_cast<std::uint8_t>(i);
    }
    return places;
}

constexpr std::array<std::uint8_t, kPlaces> kNumbers = make_places();

}  // namespace

std::span<const std::string_view> known_names() { return kNames; }

std::uint32_t number_of_name(std::string_view name) {
    if (name.empty()) return kUnknownName;
    for (std::size_t place = place_of(name); kNumbers[place] != kFree;
         place = (place + 1) % kPlaces) {
        if (http::equal_without_case(kNames[kNumbers[place]], name)) return kNumbers[place];
    }
    return kUnknownName;
}

}  // namespace weft::api
