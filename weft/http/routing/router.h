// Router: which handler answers which method on which path.
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
// segment is preferred to a parameter, a parameter to "*rest", that to a mounted handler; but what
// has no route for the method gives way to what has one. A parameter is not empty, the rest may be.
// "/users" and "/users/" are two paths. A path with "." or ".." segments or a broken escape is
// answered with 400.
//
// HEAD is answered by GET's handler, OPTIONS by a list of the methods, unless there is a route; a
// path that has only other methods gives 405 with Allow, any other 404.
//
// Dumps, reports of stalls and the message of an overflow call the fiber of a request by its route,
// "GET /users/:id"; what is mounted "any /assets/*", or by the route of a router within.
//
// Filled by one fiber or thread; the handler that build() gives is for any number of fibers.
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

// Of one pattern; more is an error of build().
inline constexpr std::size_t kRouteSegmentsMax = 32;

struct RouteOptions {
    std::optional<std::uint64_t> body_bytes_max;  // instead of the server's
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
    // Around every route of this router, also of those before; the first is the outermost. That of
    // the router itself is also around its 404 and the like, and runs before the path is matched.
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
    std::string mistake_;  // the first
};

}  // namespace weft::http
