#include "weft/app/native_routes.h"

#include <algorithm>
#include <utility>

#include "weft/base/format.h"
#include "weft/http/files/static_files.h"
#include "weft/http/routing/router.h"

namespace weft::app {

std::string mistake_in_route(std::string_view path) {
    if (!path.starts_with('/')) return "begins with no slash";
    if (path == "/") return {};
    if (path.ends_with('/')) return "ends with a slash";
    if (path.contains("//") || path.contains("/.")) return "has an empty part, or one with a dot";
    // Characters with a meaning in a URL or in the pattern of a router.
    bool is_special = path.find_first_of("?#%{}") != std::string_view::npos ||
                      path.contains("/:") || path.contains("/*");
    return is_special ? "has a character that no fixed path has" : "";
}

Result<NativeRoutes> NativeRoutes::create(const api::Routes& routes,
                                          http::ProxyOptions::CheckAddress check_address) {
    NativeRoutes made;
    http::Router router;
    auto mount = [&](const std::string& path, http::Handler handler) {
        router.mount(path, std::move(handler));
        made.prefixes_.push_back(path == "/" ? "" : path);
    };
    for (const api::StaticRoute& route : routes.folders) {
        http::StaticFilesOptions options;
        options.index = route.index;
        options.cache_control = route.cache_control;
        Result<http::Handler> files = http::static_files(route.folder, std::move(options));
        if (!files) return files.error().with_context("serve", route.path);
        mount(route.path, std::move(*files));
    }
    for (const api::ProxyRoute& route : routes.proxies) {
        http::ProxyOptions options;
        options.upstreams = route.upstreams;
        options.check_address = check_address;
        Result<http::ReverseProxy> proxy = http::ReverseProxy::create(std::move(options));
        if (!proxy) return Error(ErrorKind::Misuse, proxy.error().message());
        mount(route.path, proxy->handler());
    }
    made.handler_ = WEFT_TRY(std::move(router).build());
    return made;
}

bool NativeRoutes::cover(std::string_view path) const {
    return std::ranges::any_of(prefixes_, [&](const std::string& prefix) {
        return path.starts_with(prefix) &&
               (path.size() == prefix.size() || path[prefix.size()] == '/');
    });
}

}  // namespace weft::app
