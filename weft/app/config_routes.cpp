#include "weft/app/config_routes.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "weft/app/native_routes.h"
#include "weft/base/format.h"

namespace weft::app {
namespace {

using Field = ConfigReader::Field;
constexpr Field::Presence kRequired = Field::Presence::Required;

}  // namespace

void RouteReader::read_static(const Keyed& at, api::Routes& into) {
    reader_.list(at, [&](const Keyed& item) {
        api::StaticRoute route;
        auto into_text = [&](std::string& text_of) {
            return [this, &text_of](const Keyed& field) {
                if (auto text = reader_.text(field)) text_of = *text;
            };
        };
        reader_.object(
            item,
            {{"path", [&](const Keyed& field) { read_path(field, route.path); }, kRequired},
             {"folder", [&](const Keyed& field) { read_folder(field, route.folder); }, kRequired},
             {"index", into_text(route.index)},
             {"cacheControl", into_text(route.cache_control)}});
        check_twice(item, route.path, into);
        into.folders.push_back(std::move(route));
    });
}

void RouteReader::read_proxy(const Keyed& at, api::Routes& into) {
    reader_.list(at, [&](const Keyed& item) {
        api::ProxyRoute route;
        reader_.object(
            item, {{"path", [&](const Keyed& field) { read_path(field, route.path); }, kRequired},
                   {"upstreams",
                    [&](const Keyed& field) {
                        reader_.list(field, [&](const Keyed& upstream) {
                            read_upstream(upstream, route.upstreams);
                        });
                        if (route.upstreams.empty()) reader_.fail(field, "must have at least one");
                    },
                    kRequired}});
        check_twice(item, route.path, into);
        into.proxies.push_back(std::move(route));
    });
}

void RouteReader::read_path(const Keyed& at, std::string& into) {
    std::optional<std::string> text = reader_.text(at);
    if (!text) return;
    std::string mistake = mistake_in_route(*text);
    if (!mistake.empty())
        reader_.fail(at, format("\"{}\" is no path such as /assets: it {}", *text, mistake));
    into = *text;
}

void RouteReader::read_folder(const Keyed& at, std::string& into) {
    std::optional<std::string> text = reader_.text(at);
    if (!text) return;
    std::filesystem::path path = (folder_ / *text).lexically_normal();
    std::error_code error;
    if (!std::filesystem::is_directory(path, error))
        reader_.fail(at, format("there is no folder {}", path.string()));
    into = path.string();
}

void RouteReader::read_upstream(const Keyed& at, std::vector<std::string>& into) {
    std::optional<std::string> text = reader_.text(at);
    if (!text) return;
    into.push_back(*text);
    Result<http::ReverseProxy> proxy = http::ReverseProxy::create({.upstreams = {*text}});
    if (!proxy) reader_.fail(at, proxy.error().message());
}

void RouteReader::check_twice(const Keyed& at, const std::string& path, const api::Routes& routes) {
    auto has = [&](const auto& list) {
        return std::ranges::any_of(list, [&](const auto& route) { return route.path == path; });
    };
    bool is_there = has(routes.folders) || has(routes.proxies);
    if (is_there) reader_.fail(at, format("{} stands here for the second time", path));
}

}  // namespace weft::app
