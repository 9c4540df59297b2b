// cors(): lets pages of other origins read this server's responses (the Fetch standard, §3.2).
//
//     http::CorsOptions options{.origins = {"https://app.example.com"}, .credentials = true};
//     router.use(WEFT_TRY(http::cors(options)));
//
// A browser sends the origin of the page with a request, and shows the page the response only if
// the response's fields allow it. A preflight (OPTIONS with Access-Control-Request-Method) is
// answered here and never reaches the handler: by 204, or 403 for an origin that is not allowed.
// Every other request reaches the handler, whatever its origin: CORS controls what a page may read,
// it does not block requests. Responses that the server makes of a handler's error have no CORS
// fields.
//
// Any fiber.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/http/response.h"

namespace weft::http {

struct CorsOptions {
    // The allowed origins, as browsers send them: "https://example.com" or "http://localhost:3000",
    // in lower case and without a slash at the end. {"*"}: all; not together with credentials.
    std::vector<std::string> origins = {};
    // Whether an origin that is not in the list is allowed; empty: it is not.
    std::function<bool(std::string_view origin)> allows = {};
    std::vector<std::string> methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    // Fields of requests beyond those that every page may set. {"*"}: all that are asked for.
    std::vector<std::string> headers = {};
    // Fields of responses beyond those that every page may read.
    std::vector<std::string> exposed_headers = {};
    bool credentials = false;  // whether pages may send cookies and HTTP authentication
    std::chrono::seconds max_age = std::chrono::minutes(10);  // browsers may cache a preflight
};

// Misuse for an origin that no browser would send, a name that is no token, and "*" together with
// credentials, with which every page could act as the user.
Result<Middleware> cors(CorsOptions options);

}  // namespace weft::http
