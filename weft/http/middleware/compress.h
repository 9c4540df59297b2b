// compress(): compresses responses as they are sent, by gzip, br or zstd, as the client prefers.
//
//     router.use(http::compress());
//
// It compresses texts, files and streams whose content type is listed (CompressOptions::types) and
// whose size, where it is known, is at least `bytes_min`. It does not touch a response that has a
// Content-Encoding, a Content-Range or a digest already, that has Cache-Control: no-transform, or
// that has no content. Vary is added to every response that could have been compressed, also where
// it was not. A strong ETag becomes a weak one, since the bytes differ, and ranges are not offered.
// A text that would not become smaller is sent as it is. A flush() of a stream sends all that was
// written, so that events arrive at once.
//
// NB: if a response contains both a secret and a text that an attacker has chosen, its compressed
// size reveals the secret, over TLS as well (BREACH). Do not compress such routes.
//
// Any fiber.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http/response.h"
#include "weft/http/wire/content_coding.h"

namespace weft::http {

struct CompressOptions {
    // Among codings that a client weights equally the first is used.
    std::vector<wire::Coding> codings = {wire::Coding::Zstd, wire::Coding::Brotli,
                                         wire::Coding::Gzip};
    std::uint64_t bytes_min = 1024;
    // Without parameters and in lower case: "text/html", "text/*", "*+json".
    std::vector<std::string> types = {"text/*",
                                      "*+json",
                                      "*+xml",
                                      "application/json",
                                      "application/javascript",
                                      "application/xml",
                                      "application/wasm",
                                      "application/x-ndjson",
                                      "application/manifest+json",
                                      "image/svg+xml",
                                      "image/bmp",
                                      "font/ttf",
                                      "font/otf"};
};

Middleware compress(CompressOptions options = {});

// Whether the type of a Content-Type field matches one of these patterns.
bool is_listed_type(std::string_view content_type, const std::vector<std::string>& types);

}  // namespace weft::http
