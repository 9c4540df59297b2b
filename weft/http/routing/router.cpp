#include "weft/http/routing/router.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/fiber/naming.h"
#include "weft/http/headers.h"
#include "weft/http/request.h"
#include "weft/http/wire/target.h"

namespace weft::http {
namespace {

bool is_dots(std::string_view segment) { return segment == "." || segment == ".."; }

// Calls `use(segment)` for each segment, as it was sent, until one call gives false.
template <class Use>
bool for_each_segment(std::string_view path, Use use) {
    while (!path.empty()) {
        std::size_t end = path.find('/', 1);
        if (end == std::string_view::npos) end = path.size();
        if (!use(path.substr(1, end - 1))) return false;
        path.remove_prefix(end);
    }
    return true;
}

// Handlers behind the router rely on this: no escape is broken, and no segment is "." or "..".
bool is_sound_path(std::string_view path) {
    if (path.empty()) return true;
    if (path.front() != '/') return false;
    return for_each_segment(path, [](std::string_view segment) {
        if (!segment.contains('%')) return !is_dots(segment);
        std::optional<std::string> decoded = wire::percent_decode(segment);
        return decoded && !is_dots(*decoded);
    });
}

bool is_name(std::string_view text) {
    auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9');
    });
}

Handler wrap(Handler handler, const std::vector<Middleware>& middleware) {
    for (auto layer = middleware.rbegin(); layer != middleware.rend(); ++layer) {
        handler = (*layer)(std::move(handler));
    }
    return handler;
}

}  // namespace

// A tree with a node for each segment of a pattern. Each node is at one depth, so a search visits
// it at most once.
class Router::Tree {
public:
    // Empty, or what is wrong with the route.
    std::string add(Route route);
    Result<Response> answer(Request& request, async::Context& context) const;

private:
    struct Endpoint {
        std::string method;  // empty: any
        Handler handler;
        RouteOptions options;
        std::vector<std::string> names;  // of the parameters, in their order
        bool is_mount = false;
        const FiberLabel* label;  // "GET /users/:id"; null: there are too many labels
    };
    struct Node {
        std::vector<std::pair<std::string, std::unique_ptr<Node>>> fixed;  // sorted
        std::unique_ptr<Node> parameter;
        std::vector<Endpoint> here;
        std::vector<Endpoint> rest;
        std::vector<Endpoint> mounted;  // at most one

        const Node* find_fixed(std::string_view segment) const;
        Node& fixed_child(std::string_view segment);
        Node& parameter_child();
    };
    struct Search {
        std::string_view method;
        std::string_view path;
        const Endpoint* found = nullptr;
        std::size_t mounted_bytes = 0;
        std::array<std::string_view, kRouteSegmentsMax> values;  // as they were sent
        std::size_t value_count = 0;
        std::set<std::string_view> methods;  // of the routes on this path that have another method

        bool at(const Node& node, std::size_t begin);
        bool take(const std::vector<Endpoint>& endpoints);
    };

    Node root_;
    std::set<std::string> methods_;  // of all routes
};

const Router::Tree::Node* Router::Tree::Node::find_fixed(std::string_view segment) const {
    auto place = std::ranges::lower_bound(
        fixed, segment, {}, [](const auto& child) { return std::string_view(child.first); });
    return place != fixed.end() && place->first == segment ? place->second.get() : nullptr;
}

Router::Tree::Node& Router::Tree::Node::fixed_child(std::string_view segment) {
    auto place = std::ranges::lower_bound(
        fixed, segment, {}, [](const auto& child) { return std::string_view(child.first); });
    if (place == fixed.end() || place->first != segment) {
        place = fixed.emplace(place, std::string(segment), std::make_unique<Node>());
    }
    return *place->second;
}

Router::Tree::Node& Router::Tree::Node::parameter_child() {
    if (!parameter) parameter = std::make_unique<Node>();
    return *parameter;
}

std::string Router::Tree::add(Route route) {
    if (!route.handler) return "it has no handler";
    if (!route.method.empty() && !is_token(route.method)) return "its method is no token";
    if (!route.is_mount && !route.pattern.starts_with('/')) return "it begins with no slash";
    if (route.pattern.find_first_of(std::string_view("?#\0", 3)) != std::string::npos) {
        return "it has a query, a fragment or a zero byte";
    }
    Node* node = &root_;
    std::vector<Endpoint>* place = nullptr;
    std::vector<std::string> names;
    std::string mistake;
    std::size_t left = route.pattern.size();
    std::size_t segments = 0;
    for_each_segment(route.pattern, [&](std::string_view segment) {
        left -= segment.size() + 1;
        bool is_named = segment.starts_with(':') || segment.starts_with('*');
        if (++segments > kRouteSegmentsMax) mistake = "it has too many segments";
        if (place) mistake = "something follows its wildcard";
        if (is_dots(segment)) mistake = "no path with dots is ever routed";
        if (segment.empty() && (left > 0 || route.is_mount)) mistake = "it has an empty segment";
        if (is_named) {
            std::string name(segment.substr(1));
            if (!is_name(name)) mistake = "a parameter has no proper name";
            if (std::ranges::find(names, name) != names.end())
                mistake = "two parameters have one name";
            names.push_back(std::move(name));
        }
        if (segment.starts_with('*')) {
            if (route.is_mount) mistake = "what is mounted takes the rest anyway";
            place = &node->rest;
        } else {
            node = is_named ? &node->parameter_child() : &node->fixed_child(segment);
        }
        return mistake.empty();
    });
    if (!mistake.empty()) return mistake;
    if (!place) place = route.is_mount ? &node->mounted : &node->here;
    auto same = std::ranges::find(*place, route.method, &Endpoint::method);
    if (same != place->end()) return "there is one already";
    if (!route.is_mount) methods_.insert(route.method);
    const FiberLabel* label =
        FiberLabel::keep(route.is_mount ? format("any {}/*", route.pattern)
                                        : format("{} {}", route.method, route.pattern));
    place->push_back({std::move(route.method), std::move(route.handler), route.options,
                      std::move(names), route.is_mount, label});
    WEFT_ASSERT(!route.is_mount || place->size() == 1, "one handler is mounted at a node");
    return {};
}

// Searches below `node` for the rest of the path, which is empty or has a slash at `begin`.
bool Router::Tree::Search::at(const Node& node, std::size_t begin) {
    WEFT_DASSERT(begin == path.size() || path[begin] == '/');
    if (begin == path.size()) {
        if (take(node.here)) return true;
        mounted_bytes = begin;
        return take(node.mounted);
    }
    std::size_t end = path.find('/', begin + 1);
    if (end == std::string_view::npos) end = path.size();
    std::string_view segment = path.substr(begin + 1, end - begin - 1);
    const Node* fixed = nullptr;
    if (segment.contains('%')) {
        std::optional<std::string> decoded = wire::percent_decode(segment);
        if (decoded) fixed = node.find_fixed(*decoded);
    } else {
        fixed = node.find_fixed(segment);
    }
    if (fixed && at(*fixed, end)) return true;
    WEFT_DASSERT(value_count < values.size() || (!node.parameter && node.rest.empty()),
                 "a pattern has at most kRouteSegmentsMax parameters");
    if (node.parameter && !segment.empty()) {
        values[value_count++] = segment;
        if (at(*node.parameter, end)) return true;
        --value_count;
    }
    if (!node.rest.empty()) {
        values[value_count++] = path.substr(begin + 1);
        if (take(node.rest)) return true;
        --value_count;
    }
    mounted_bytes = begin;
    return take(node.mounted);
}

bool Router::Tree::Search::take(const std::vector<Endpoint>& endpoints) {
    const Endpoint* best = nullptr;
    for (const Endpoint& endpoint : endpoints) {
        if (endpoint.method == method) {
            best = &endpoint;
            break;
        }
        if (endpoint.method.empty() || (method == "HEAD" && endpoint.method == "GET")) {
            best = &endpoint;
        }
    }
    found = best;
    if (best) return true;
    for (const Endpoint& endpoint : endpoints) methods.insert(endpoint.method);
    return false;
}

namespace {

std::string allow_text(std::set<std::string_view> methods) {
    methods.insert("OPTIONS");
    if (methods.contains("GET")) methods.insert("HEAD");
    std::string text;
    for (std::string_view method : methods) {
        if (!text.empty()) text += ", ";
        text += method;
    }
    return text;
}

Response refusal(std::string_view method, std::set<std::string_view> methods) {
    if (methods.empty()) return Response::plain(404);
    std::string allow = allow_text(std::move(methods));
    return Response::plain(method == "OPTIONS" ? 204 : 405).with("allow", allow);
}

}  // namespace

Result<Response> Router::Tree::answer(Request& request, async::Context& context) const {
    std::string_view path = request.path();
    if (request.method() == "OPTIONS" && request.target() == "*") {
        return refusal("OPTIONS", {methods_.begin(), methods_.end()});
    }
    if (!is_sound_path(path))
        return Response::text("a path with a segment of dots, or with an escaped NUL\n", 400);
    Search search;
    search.method = request.method();
    search.path = path;
    if (!search.at(root_, 0)) return refusal(search.method, std::move(search.methods));
    const Endpoint& endpoint = *search.found;
    WEFT_DASSERT(endpoint.names.size() == search.value_count, "each parameter has its value");
    for (std::size_t i = 0; i < search.value_count; ++i) {
        // is_sound_path() has found that it can be decoded.
        request.add_parameter(endpoint.names[i], *wire::percent_decode(search.values[i]));
    }
    if (endpoint.options.body_bytes_max) {
        request.body().set_bytes_max(*endpoint.options.body_bytes_max);
    }
    if (endpoint.is_mount) request.mount(search.mounted_bytes);
    if (endpoint.label) set_label(*endpoint.label);
    return endpoint.handler(request, context);
}

Router& Router::add(Route route) {
    bool is_relative = !route.pattern.empty() && route.pattern.front() != '/';
    if (is_relative && mistake_.empty()) {
        mistake_ = format("route {} {}: it begins with no slash", route.method, route.pattern);
    }
    routes_.push_back(std::move(route));
    return *this;
}

Router& Router::on(std::string_view method, std::string_view pattern, Handler handler,
                   RouteOptions options) {
    if (method.empty() && mistake_.empty()) mistake_ = format("route {}: no method", pattern);
    return add({std::string(method), std::string(pattern), std::move(handler), options});
}
Router& Router::get(std::string_view pattern, Handler handler, RouteOptions options) {
    return on("GET", pattern, std::move(handler), options);
}
Router& Router::post(std::string_view pattern, Handler handler, RouteOptions options) {
    return on("POST", pattern, std::move(handler), options);
}
Router& Router::put(std::string_view pattern, Handler handler, RouteOptions options) {
    return on("PUT", pattern, std::move(handler), options);
}
Router& Router::patch(std::string_view pattern, Handler handler, RouteOptions options) {
    return on("PATCH", pattern, std::move(handler), options);
}
Router& Router::delete_(std::string_view pattern, Handler handler, RouteOptions options) {
    return on("DELETE", pattern, std::move(handler), options);
}

Router& Router::mount(std::string_view prefix, Handler handler) {
    if (prefix == "/") prefix = "";
    return add({"", std::string(prefix), std::move(handler), {}, true});
}

Router& Router::group(std::string_view prefix, const std::function<void(Router& group)>& fill) {
    Router inner;
    fill(inner);
    if (prefix.ends_with('/') && mistake_.empty()) {
        mistake_ = format("group {}: it ends with a slash", prefix);
    }
    if (mistake_.empty()) mistake_ = std::move(inner.mistake_);
    for (Route& route : inner.routes_) {
        route.pattern.insert(0, prefix);
        // A missing handler stays missing, so that build() finds the mistake.
        if (route.handler) route.handler = wrap(std::move(route.handler), inner.middleware_);
        add(std::move(route));
    }
    return *this;
}

Router& Router::use(Middleware middleware) {
    middleware_.push_back(std::move(middleware));
    return *this;
}

Result<Handler> Router::build() && {
    if (!mistake_.empty()) return Error(ErrorKind::Misuse, mistake_);
    // Shared by the copies of the handler.
    auto tree = std::make_shared<Tree>();
    for (Route& route : routes_) {
        std::string name = format("route {} {}", route.method, route.pattern);
        std::string mistake = tree->add(std::move(route));
        if (!mistake.empty()) return Error(ErrorKind::Misuse, name + ": " + mistake);
    }
    Handler handler = [tree = std::shared_ptr<const Tree>(std::move(tree))](
                          Request& request, async::Context& context) {
        return tree->answer(request, context);
    };
    return wrap(std::move(handler), middleware_);
}

}  // namespace weft::http
