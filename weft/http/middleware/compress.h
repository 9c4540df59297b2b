// Compression of responses as they are sent: gzip, br and zstd, whichever the client likes best.
//
//     router.use(http::compress());
//
// What it compresses: a text, a file or a stream with a type that is worth it (CompressOptions::
// types), of at least `bytes_min` where the size is known. What it leaves as it is: what has a
// Content-Encoding, a Content-Range or a digest already, says Cache-Control: no-transform, or has
// no content. Whoever could have got another coding is told by Vary, also where nothing was done.
// A strong ETag becomes a weak one, since the bytes are others; ranges are not offered. A text that
// would not become smaller is sent as it is. Each flush() of a stream reaches the client: events
// arrive as they are sent.
//
// NB: a response with both a secret and something that the asker has chosen tells the secret by its
// size, over TLS as well (BREACH). Keep such routes out of it.
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
    // Among those that a client likes equally the first is taken.
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

// Whether a Content-Type is one of these.
bool is_listed_type(std::string_view content_type, const std::vector<std::string>& types);

}  // namespace weft::http
