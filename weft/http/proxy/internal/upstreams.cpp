#include "weft/http/proxy/internal/upstreams.h"

#include <functional>
#include <string_view>
#include <utility>

#include "weft/base/format.h"

namespace weft::http {
namespace {

constexpr std::size_t kUpstreamsMax = 64;  // the bits of `tried`, see Upstreams::choose()

std::size_t hash_of(const net::Address& address) {
    if (address.kind() == net::Address::Kind::Unix) return 0;
    net::IpAddress ip = address.ip().unmapped();
    const auto& bytes = ip.bytes();
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

bool Upstream::is_well() const {
    if (has_failed_check()) return false;
    // The common case is 0: the upstream was never out, and the clock need not be read.
    std::int64_t out_until_ns = out_until_ns_.load(std::memory_order_relaxed);
    return out_until_ns == 0 || out_until_ns <= Clock::now().time_since_epoch().count();
}

void Upstream::begin() {
    under_way_.fetch_add(1, std::memory_order_relaxed);
    requests_.add();
}

void Upstream::end() {
    std::uint32_t before = under_way_.fetch_sub(1, std::memory_order_relaxed);
    WEFT_ASSERT(before > 0, "begin() has counted it");
}

void Upstream::succeeded() {
    // Load first: many workers share the cache line, and failures are rare.
    if (failures_in_row_.load(std::memory_order_relaxed) != 0)
        failures_in_row_.store(0, std::memory_order_relaxed);
}

void Upstream::failed(const ProxyHealth& health) {
    failures_.add();
    if (health.failures == 0) return;
    // Relaxed, here and below: see the members.
    if (failures_in_row_.fetch_add(1, std::memory_order_relaxed) + 1 < health.failures) return;
    Deadline until = Deadline::after(health.out_for);
    out_until_ns_.store(until.instant().time_since_epoch().count(), std::memory_order_relaxed);
}

void Upstream::checked(bool good) {
    // Relaxed: see the members.
    check_failed_.store(!good, std::memory_order_relaxed);
    if (!good) return;
    failures_in_row_.store(0, std::memory_order_relaxed);
    out_until_ns_.store(0, std::memory_order_relaxed);
}

UpstreamStatus Upstream::status() const {
    return {.name = origin_->to_string(),
            .is_well = is_well(),
            .under_way = under_way(),
            .requests = requests_.value(),
            .failures = failures_.value()};
}

Result<std::unique_ptr<Upstreams>> Upstreams::create(const ProxyOptions& options,
                                                     ClientPool& pool) {
    auto made = std::make_unique<Upstreams>();
    if (options.upstreams.empty() || options.upstreams.size() > kUpstreamsMax)
        return Error(ErrorKind::Misuse, "a proxy has 1 to 64 upstreams");
    for (const std::string& text : options.upstreams) {
        if (text.starts_with(kUnixPrefix)) {
            if (auto address = net::Address::parse(text); !address)
                return Error(ErrorKind::Misuse, format("{} is no upstream", text));
            auto origin = pool.origin({text, 0, false, Route::Direct});
            made->upstreams_.push_back(
                std::make_unique<Upstream>("localhost", std::move(origin), options));
            continue;
        }
        auto url = Url::parse(text);
        if (!url || url->target() != "/" || (url->scheme() != "http" && url->scheme() != "https"))
            return Error(ErrorKind::Misuse,
                         format("{} is no upstream such as http://127.0.0.1:9000", text));
        auto origin = pool.origin({url->host(), url->port(), url->is_secure(), Route::Direct});
        made->upstreams_.push_back(
            std::make_unique<Upstream>(url->authority(), std::move(origin), options));
    }
    return made;
}

std::size_t Upstreams::first_choice(Balance balance, const net::Address& client) {
    if (balance == Balance::ClientAddress) return hash_of(client);
    // Relaxed, here and below: an approximate round-robin order is enough.
    return turn_.fetch_add(1, std::memory_order_relaxed);
}

Upstream* Upstreams::choose(Balance balance, const net::Address& client, std::uint64_t& tried) {
    std::size_t count = upstreams_.size();
    WEFT_ASSERT(count > 0 && count <= kUpstreamsMax, "`tried` has a bit for each");
    WEFT_DASSERT(count == kUpstreamsMax || tried >> count == 0, "there are no more upstreams");
    // A retry does not advance the turn, or the next client would get the upstream of the retry.
    std::size_t first = tried ? turn_.load(std::memory_order_relaxed) : 0;
    if (!tried && count > 1) first = first_choice(balance, client);
    auto best_of = [&](auto&& takes) {
        std::optional<std::size_t> best;
        for (std::size_t step = 0; step < count; ++step) {
            std::size_t index = (first + step) % count;
            const Upstream& next = *upstreams_[index];
            if ((tried >> index & 1U) || !takes(next)) continue;
            if (!best || next.under_way() < upstreams_[*best]->under_way()) best = index;
            if (balance != Balance::LeastRequests) break;
        }
        return best;
    };
    auto best = best_of([](const Upstream& upstream) { return upstream.is_well(); });
    // No upstream is healthy: one may have recovered, and refusing every request helps nobody.
    if (!best && !tried)
        best = best_of([](const Upstream& upstream) { return !upstream.has_failed_check(); });
    if (!best) return nullptr;
    WEFT_DASSERT((tried >> *best & 1U) == 0, "none is tried twice");
    tried |= std::uint64_t{1} << *best;
    return upstreams_[*best].get();
}

}  // namespace weft::http
