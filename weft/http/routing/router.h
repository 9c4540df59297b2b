// Router: chooses the handler by the method and the path of the request.
//
//     http::Router router;
//     router.use(http::request_id());
//     router.get("/users/:id", show_user);               // request.parameter("id")
//     router.get("/files/*rest", show_file);             // "rest" is all that follows
//     router.group("/admin", [](http::Router& admin) {
//         admin.use(require_login);                      // for the routes of the group
//         admin.post("/import", import, {.body_bytes_max = 64 << 20});
//     });
//     router.mount("/assets", WEFT_TRY(http::static_files("public")));
//     http::Server server(WEFT_TRY(std::move(router).build()));
//
// A path is split at its slashes, and then each segment is decoded: "%2F" does not split. A fixed
// segment is preferred to a parameter, a parameter to "*rest", and that to a mounted handler; but a
// route for another method is passed over for one that has the method. A parameter is not empty,
// the rest may be. "/users" and "/users/" are two paths. A path with "." or ".." segments or a
// broken escape is answered with 400.
//
// HEAD is answered by GET's handler, OPTIONS by a list of the methods, unless there is a route; a
// path that has only other methods gives 405 with Allow, any other 404.
//
// In dumps, reports of stalls and the message of a stack overflow the fiber of a request has the
// name of its route, "GET /users/:id"; with a mounted handler "any /assets/*", or the route of a
// router inside.
//
// Filled by one fiber or thread; the handler that build() gives may be called by any number of
// fibers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/http/response.h"

namespace weft::http {

// Of one pattern; with more build() gives Misuse.
inline constexpr std::size_t kRouteSegmentsMax = 32;

struct RouteOptions {
    std::optional<std::uint64_t> body_bytes_max;  // instead of ServerLimits::body_bytes
};

class Router {
public:
    // A pattern begins with a slash and is written decoded: "/naïve path/:name".
    Router& get(std::string_view pattern, Handler handler, RouteOptions options = {});
    Router& post(std::string_view pattern, Handler handler, RouteOptions options = {});
    Router& put(std::string_view pattern, Handler handler, RouteOptions options = {});
    Router& patch(std::string_view pattern, Handler handler, RouteOptions options = {});
    Router& delete_(std::string_view pattern, Handler handler, RouteOptions options = {});
    Router& on(std::string_view method, std::string_view pattern, Handler handler,
               RouteOptions options = {});

    // Everything at `prefix` and below it, with any method. The handler sees the path without the
    // prefix: empty, or beginning with a slash.
    Router& mount(std::string_view prefix, Handler handler);
    // Routes below `prefix` that share middleware; there a pattern may be empty.
    Router& group(std::string_view prefix, const std::function<void(Router& group)>& fill);
    // Wraps every route of this router, also those that were added before; the first middleware is
    // the outermost. Outside of groups it runs before the path is matched, so it also wraps the
    // router's own 404, 405 and 400.
    Router& use(Middleware middleware);

    // Misuse when a pattern is malformed or a method has two handlers for the same paths.
    Result<Handler> build() &&;

private:
    struct Route {
        std::string method;  // empty: any
        std::string pattern;
        Handler handler;
        RouteOptions options;
        bool is_mount = false;
    };
    class Tree;

    Router& add(Route route);

    std::vector<Route> routes_;
    std::vector<Middleware> middleware_;
    std::string mistake_;  // the first one, for build(); empty: none
};

}  // namespace weft::http
