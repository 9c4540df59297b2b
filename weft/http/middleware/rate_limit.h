// A limit on how often a client may ask: a token bucket for each, 429 with Retry-After beyond it.
//
//     router.use(WEFT_TRY(http::rate_limit({.requests = 100, .per = 1min, .burst = 20})));
//
// A client is an IPv4 address, or the 64 bits of an IPv6 address that one subscriber has at least;
// those that come by Unix sockets are one client together. Behind a proxy all have its address:
// give `key` then, from a field that the proxy sets.
//
// Memory is bounded: it knows `clients_max` clients, and forgets first who has not asked for the
// longest, which then begins with a full bucket. Any fiber.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/http/response.h"

namespace weft::net {
class Address;
}

namespace weft::http {

// The rest of a longer key does not count.
inline constexpr std::size_t kRateKeyBytesMax = 256;

struct RateLimitOptions {
    std::uint64_t requests = 100;
    Nanoseconds per = std::chrono::seconds(1);
    std::uint64_t burst = 0;  // how many may come at once; 0: as many as `requests`
    std::size_t clients_max = 65'536;
    // Who asks; nothing: without a limit. None: by address.
    std::function<std::optional<std::string>(const Request& request)> key = {};
};

// The buckets alone, for limits on other things. Any thread.
class RateLimiter {
public:
    // Misuse when the numbers make no rate of at most one in a nanosecond.
    static Result<std::unique_ptr<RateLimiter>> create(const RateLimitOptions& options);

    // Takes a token; if there is none, when there will be one.
    std::optional<Nanoseconds> take(std::string_view key, Instant now);

    std::size_t clients() const;
    static std::string key_of(const net::Address& address);

private:
    explicit RateLimiter(const RateLimitOptions& options);

    // A bucket is the moment at which it will be full again: one less for each token taken.
    struct Bucket {
        Instant full_at;
        std::list<std::string_view>::iterator place;
    };
    // Each has its part of the keys, so that they can be used at once. A tree, since whoever
    // chooses keys could make those of a hash table meet.
    struct Shard {
        mutable SpinLock lock;  // the rest
        std::map<std::string, Bucket, std::less<>> buckets;
        std::list<std::string_view> by_use;  // views of the keys, the last used first
    };
    static constexpr std::size_t kShards = 16;

    Shard& shard_of(std::string_view key);

    const Nanoseconds interval_;  // a token comes
    const Nanoseconds burst_;     // so much may be missing
    const std::size_t shard_clients_max_;
    std::array<Shard, kShards> shards_;
};

Result<Middleware> rate_limit(RateLimitOptions options);

}  // namespace weft::http
