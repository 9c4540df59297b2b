// NativeRoutes: folders and proxies of an application, by the handlers of http. They need no
// JavaScript, so they answer before it is there and while it computes.
//
// Any fiber, many at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/api/routes.h"
#include "weft/base/result.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/http/response.h"

namespace weft::app {

// Empty, or what is wrong with the path of a route: "/assets" is none, "assets/" is.
std::string mistake_in_route(std::string_view path);

class NativeRoutes {
public:
    NativeRoutes() = default;
    // The error names the route. `check_address` may be null: who wrote the configuration may reach
    // what he likes.
    static Result<NativeRoutes> create(const api::Routes& routes,
                                       http::ProxyOptions::CheckAddress check_address);

    // As the path was sent.
    bool cover(std::string_view path) const;
    Result<http::Response> answer(http::Request& request, async::Context& context) const {
        return handler_(request, context);
    }

private:
    std::vector<std::string> prefixes_;
    http::Handler handler_;
};

}  // namespace weft::app
