#include "weft/http/middleware/cors.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/http/middleware/internal/vary.h"
#include "weft/http/request.h"
#include "weft/http/wire/target.h"

namespace weft::http {
namespace {

constexpr std::string_view kAll = "*";

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

std::string joined(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

// scheme "://" host [":" port], as the Fetch standard serializes it. Any scheme is accepted, since
// browser extensions and native shells have their own.
bool is_origin(std::string_view text) {
    std::size_t colon = text.find("://");
    if (colon == text.npos || colon == 0) return false;
    std::string_view scheme = text.substr(0, colon);
    std::string_view authority = text.substr(colon + 3);
    bool lower = std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
    return lower && is_token(scheme) && !authority.empty() && wire::parse_host_port(authority);
}

Result<void> check(const CorsOptions& options) {
    bool all = contains(options.origins, kAll);
    if (all && options.credentials)
        return Error(ErrorKind::Misuse,
                     "cors: \"*\" together with credentials would let every "
                     "page act as the user; list the origins");
    for (const std::string& origin : options.origins) {
        if (origin != kAll && !is_origin(origin))
            return Error(ErrorKind::Misuse, format("cors: '{}' is no origin", origin));
    }
    for (const auto* names : {&options.methods, &options.headers, &options.exposed_headers}) {
        for (const std::string& name : *names) {
            if (!is_token(name))
                return Error(ErrorKind::Misuse, format("cors: '{}' is no name", name));
        }
    }
    if (options.max_age < std::chrono::seconds::zero())
        return Error(ErrorKind::Misuse, "cors: max_age lies before its beginning");
    return {};
}

class Cors {
public:
    explicit Cors(CorsOptions options)
        : options_(std::move(options)),
          all_origins_(contains(options_.origins, kAll)),
          all_headers_(contains(options_.headers, kAll)),
          methods_(joined(options_.methods)),
          headers_(joined(options_.headers)),
          exposed_(joined(options_.exposed_headers)) {
        WEFT_ASSERT(!all_origins_ || !options_.credentials, "check() refuses this");
    }

    Result<Response> handle(const Handler& next, Request& request, async::Context& context) const {
        if (is_preflight(request)) return answer_preflight(request);
        Response response = WEFT_TRY(next(request, context));
        if (!all_origins_) add_vary(response.headers, "Origin");
        if (add_permission(request, response.headers) && !exposed_.empty())
            response.headers.set("Access-Control-Expose-Headers", exposed_);
        return response;
    }

private:
    static bool is_preflight(const Request& request) {
        return request.method() == "OPTIONS" && request.header("origin") &&
               request.header("access-control-request-method");
    }

    bool may(const Request& request, std::string_view origin) const {
        if (request.headers().count("origin") != 1) return false;
        if (all_origins_ || contains(options_.origins, origin)) return true;
        return options_.allows && options_.allows(origin);
    }

    // False: the page may not read the response.
    bool add_permission(const Request& request, Headers& headers) const {
        std::optional<std::string_view> origin = request.header("origin");
        if (!origin || !may(request, *origin)) return false;
        headers.set("Access-Control-Allow-Origin", all_origins_ ? kAll : *origin);
        if (options_.credentials) headers.set("Access-Control-Allow-Credentials", "true");
        return true;
    }

    Response answer_preflight(const Request& request) const {
        Response response;
        response.status = 204;
        bool allowed = add_permission(request, response.headers);
        if (!allowed) response = Response::plain(403);
        for (std::string_view field :
             {"Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"})
            add_vary(response.headers, field);
        if (!allowed) return response;
        response.headers.add("Access-Control-Allow-Methods", methods_);
        std::string headers = all_headers_ ? asked_headers(request) : headers_;
        if (!headers.empty()) response.headers.add("Access-Control-Allow-Headers", headers);
        response.headers.add("Access-Control-Max-Age", std::to_string(options_.max_age.count()));
        return response;
    }

    // Repeats the requested names, since browsers ignore "*" together with credentials. Empty if
    // the field contains anything but names.
    static std::string asked_headers(const Request& request) {
        std::string asked = request.headers().joined("access-control-request-headers");
        bool names = std::ranges::all_of(asked, [](char c) {
            return c == ',' || c == ' ' || is_token(std::string_view(&c, 1));
        });
        return names ? asked : std::string();
    }

    const CorsOptions options_;
    const bool all_origins_;
    const bool all_headers_;
    const std::string methods_;
    const std::string headers_;
    const std::string exposed_;
};

}  // namespace

Result<Middleware> cors(CorsOptions options) {
    WEFT_TRY(check(options));
    // Shared by the handlers that it wraps.
    auto shared = std::make_shared<const Cors>(std::move(options));
    return Middleware([shared](Handler next) -> Handler {
        return [shared, next = std::move(next)](Request& request, async::Context& context) {
            return shared->handle(next, request, context);
        };
    });
}

}  // namespace weft::http
