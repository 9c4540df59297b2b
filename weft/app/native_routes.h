// NativeRoutes: the folders and proxies of an application, answered by the handlers of http. They
// need no JavaScript, so they answer before it is loaded and while it computes.
//
// Any fiber; several at once.
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

// What is wrong with the path of a route, such as "assets/"; empty for a valid one, "/assets".
std::string mistake_in_route(std::string_view path);

class NativeRoutes {
public:
    NativeRoutes() = default;
    // The error names the route. A null `check_address` allows all addresses: the author of the
    // configuration is trusted.
    static Result<NativeRoutes> create(const api::Routes& routes,
                                       http::ProxyOptions::CheckAddress check_address);

    // Whether a route matches the path, which is given as it was sent.
    bool cover(std::string_view path) const;
    Result<http::Response> answer(http::Request& request, async::Context& context) const {
        return handler_(request, context);
    }

private:
    std::vector<std::string> prefixes_;
    http::Handler handler_;
};

}  // namespace weft::app
