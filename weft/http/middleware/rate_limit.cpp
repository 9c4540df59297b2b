#include "weft/http/middleware/rate_limit.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/base/assert.h"
#include "weft/http/request.h"
#include "weft/net/address.h"

namespace weft::http {
namespace {

// A longer time makes no sense for a limit. It also keeps sums far from the ends of the clock.
constexpr Nanoseconds kFillTimeMax = std::chrono::hours(24 * 365);

std::uint64_t burst_of(const RateLimitOptions& options) {
    return options.burst != 0 ? options.burst : options.requests;
}

}  // namespace

RateLimiter::RateLimiter(const RateLimitOptions& options)
    : interval_(options.per / static_cast<std::int64_t>(options.requests)),
      burst_(interval_ * static_cast<std::int64_t>(burst_of(options))),
      shard_clients_max_((options.clients_max - 1) / kShards + 1) {
    WEFT_ASSERT(interval_ > Nanoseconds::zero() && burst_ >= interval_, "see create()");
    WEFT_ASSERT(burst_ <= kFillTimeMax, "sums would leave the range of the clock");
    WEFT_ASSERT(shard_clients_max_ > 0, "no client would have a bucket");
}

Result<std::unique_ptr<RateLimiter>> RateLimiter::create(const RateLimitOptions& options) {
    auto misuse = [](std::string_view why) { return Error(ErrorKind::Misuse, why); };
    if (options.requests == 0 || options.per <= Nanoseconds::zero())
        return misuse("rate_limit: so many requests in that time are none");
    if (options.requests > static_cast<std::uint64_t>(options.per.count()))
        return misuse("rate_limit: more requests than one a nanosecond");
    std::int64_t interval = options.per.count() / static_cast<std::int64_t>(options.requests);
    if (burst_of(options) > static_cast<std::uint64_t>(kFillTimeMax.count() / interval))
        return misuse("rate_limit: a burst that takes a year to come again");
    if (options.clients_max == 0) return misuse("rate_limit: clients_max is 0");
    // Not make_unique: the constructor is private.
    return std::unique_ptr<RateLimiter>(
        new RateLimiter(options));  // tidy: allow new: owned in the same expression
}

// FNV-1a. The choice of the shard matters for speed only.
RateLimiter::Shard& RateLimiter::shard_of(std::string_view key) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return shards_[(hash >> 32) % kShards];
}

std::optional<Nanoseconds> RateLimiter::take(std::string_view key, Instant now) {
    key = key.substr(0, kRateKeyBytesMax);
    Shard& shard = shard_of(key);
    SpinGuard guard(shard.lock);
    auto found = shard.buckets.find(key);
    if (found == shard.buckets.end()) {
        if (shard.buckets.size() >= shard_clients_max_) {
            auto oldest = shard.buckets.find(shard.by_use.back());
            WEFT_ASSERT(oldest != shard.buckets.end(), "by_use has the keys of the buckets");
            shard.by_use.pop_back();
            shard.buckets.erase(oldest);
        }
        found = shard.buckets.emplace(std::string(key), Bucket{now, {}}).first;
        shard.by_use.push_front(found->first);
        found->second.place = shard.by_use.begin();
    } else {
        shard.by_use.splice(shard.by_use.begin(), shard.by_use, found->second.place);
    }
    WEFT_DASSERT(shard.buckets.size() <= shard_clients_max_);
    WEFT_DASSERT(shard.buckets.size() == shard.by_use.size(), "each bucket has one place");
    WEFT_DASSERT(*found->second.place == found->first, "a place leads to its bucket");
    Instant& full_at = found->second.full_at;
    Instant full_then = std::max(full_at, now) + interval_;
    if (full_then - now > burst_) return full_then - now - burst_;
    full_at = full_then;
    return std::nullopt;
}

std::size_t RateLimiter::clients() const {
    std::size_t sum = 0;
    for (const Shard& shard : shards_) {
        SpinGuard guard(shard.lock);
        sum += shard.buckets.size();
    }
    return sum;
}

std::string RateLimiter::key_of(const net::Address& address) {
    if (address.kind() == net::Address::Kind::Unix) return "unix";
    net::IpAddress ip = address.ip().unmapped();
    // RFC 6177: one IPv6 subscriber has at least all addresses with the same first 64 bits.
    std::size_t bytes = ip.is_v4() ? 4 : 8;
    return std::string(reinterpret_cast<const char*>(ip.bytes().data()), bytes);
}

Result<Middleware> rate_limit(RateLimitOptions options) {
    // Shared by the handlers that it wraps.
    std::shared_ptr<RateLimiter> limiter = WEFT_TRY(RateLimiter::create(options));
    auto key = std::move(options.key);
    return Middleware([limiter, key](Handler next) -> Handler {
        return [limiter, key, next = std::move(next)](Request& request,
                                                      async::Context& context) -> Result<Response> {
            std::optional<std::string> who =
                key ? key(request) : RateLimiter::key_of(request.peer());
            std::optional<Nanoseconds> wait;
            if (who) wait = limiter->take(*who, Clock::now());
            if (!wait) return next(request, context);
            auto seconds = std::chrono::ceil<std::chrono::seconds>(*wait);
            return Response::plain(429).with("Retry-After", std::to_string(seconds.count()));
        };
    });
}

}  // namespace weft::http
