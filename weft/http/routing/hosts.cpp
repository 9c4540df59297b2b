#include "weft/http/routing/hosts.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/http/request.h"
#include "weft/http/wire/target.h"

namespace weft::http {
namespace {

// RFC 1035 §2.3.4: no name is longer.
constexpr std::size_t kHostBytesMax = 255;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A host in the form that is compared: lower case, no dot at its end. Not allocated.
struct HostKey {
    std::array<char, kHostBytesMax> text;
    std::size_t size = 0;
    std::string_view view() const { return {text.data(), size}; }
};

std::optional<HostKey> key_of(std::string_view host) {
    if (host.ends_with('.')) host.remove_suffix(1);
    if (host.empty() || host.size() > kHostBytesMax) return std::nullopt;
    HostKey key;
    std::ranges::transform(host, key.text.begin(), lower);
    key.size = host.size();
    return key;
}

struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>()(text);
    }
};
using Handlers = std::unordered_map<std::string, Handler, Hash, std::equal_to<>>;

}  // namespace

class Hosts::Table {
public:
    Handlers names;
    Handlers below;  // without "*."
    Handler otherwise;

    const Handler* find(std::string_view field) const {
        if (const Handler* named = find_named(field)) return named;
        return otherwise ? &otherwise : nullptr;
    }

private:
    const Handler* find_named(std::string_view field) const {
        std::optional<wire::HostPort> host = wire::parse_host_port(field);
        if (!host) return nullptr;
        std::optional<HostKey> key = key_of(host->host);
        if (!key) return nullptr;
        std::string_view name = key->view();
        if (auto found = names.find(name); found != names.end()) return &found->second;
        if (below.empty()) return nullptr;
        for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
             dot = name.find('.')) {
            name.remove_prefix(dot + 1);
            if (auto found = below.find(name); found != below.end()) return &found->second;
        }
        return nullptr;
    }
};

Hosts::Hosts() : table_(std::make_shared<Table>()) {}
Hosts::~Hosts() = default;
Hosts::Hosts(Hosts&&) noexcept = default;
Hosts& Hosts::operator=(Hosts&&) noexcept = default;

Hosts& Hosts::add(std::string_view name, Handler handler) {
    WEFT_ASSERT(table_, "hosts that were built or moved are not used again");
    auto refuse = [&](std::string_view why) -> Hosts& {
        if (mistake_.empty()) mistake_ = format("host {}: {}", name, why);
        return *this;
    };
    bool is_wildcard = name.starts_with("*.");
    std::string_view host = is_wildcard ? name.substr(2) : name;
    bool is_ipv6 = host.find(':') != std::string_view::npos;
    std::string field = is_ipv6 ? format("[{}]", host) : std::string(host);
    std::optional<HostKey> key = key_of(host);
    if (!key || !wire::parse_host_port(field) || host.find('*') != std::string_view::npos) {
        return refuse("it is no name and no address");
    }
    if (!handler) return refuse("it has no handler");
    Handlers& place = is_wildcard ? table_->below : table_->names;
    if (!place.emplace(key->view(), std::move(handler)).second) return refuse("it is there twice");
    return *this;
}

Hosts& Hosts::otherwise(Handler handler) {
    WEFT_ASSERT(table_, "hosts that were built or moved are not used again");
    if (table_->otherwise && mistake_.empty()) mistake_ = "two handlers for all other hosts";
    table_->otherwise = std::move(handler);
    return *this;
}

Result<Handler> Hosts::build() && {
    WEFT_ASSERT(table_, "hosts are built once");
    if (!mistake_.empty()) return Error(ErrorKind::Misuse, mistake_);
    return Handler([table = std::shared_ptr<const Table>(std::move(table_))](
                       Request& request, async::Context& context) -> Result<Response> {
        const Handler* handler = table->find(request.host());
        if (!handler) return Response::plain(421);
        return (*handler)(request, context);
    });
}

}  // namespace weft::http
