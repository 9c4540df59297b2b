// CORS: which pages of other origins may use this server's answers (the Fetch standard, §3.2).
//
//     router.use(WEFT_TRY(http::cors({.origins = {"https://app.example.com"}, .credentials =
//     true})));
//
// A browser sends a page's origin along, and shows the page the answer only if the fields say so.
// A preflight (OPTIONS with Access-Control-Request-Method) is answered here and never reaches the
// handler: 204, or 403 for an origin that may not. Any other request goes to the handler in any
// case, whatever its origin: CORS guards what a page may read, it does not keep requests away.
// Answers that the server makes of a handler's error have no such fields.
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
    // As browsers write them: "https://example.com" or "http://localhost:3000", in lower case and
    // without a slash at the end. {"*"}: all; not together with credentials.
    std::vector<std::string> origins = {};
    // Asked for an origin that is not among them; none: it may not.
    std::function<bool(std::string_view origin)> allows = {};
    std::vector<std::string> methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    // Fields of requests beyond those that every page may set. {"*"}: whatever is asked for.
    std::vector<std::string> headers = {};
    // Fields of responses beyond those that every page may read.
    std::vector<std::string> exposed_headers = {};
    bool credentials = false;                                 // cookies and the like are sent
    std::chrono::seconds max_age = std::chrono::minutes(10);  // how long a preflight counts
};

// Misuse for an origin that no browser would send, a name that is no token, and "*" together with
// credentials: every page of the world could then act as the user.
Result<Middleware> cors(CorsOptions options);

}  // namespace weft::http
