// rate_limit(): limits how often a client may send requests, by one token bucket for each client.
// A request without a token is answered by 429 with Retry-After.
//
//     router.use(WEFT_TRY(http::rate_limit({.requests = 100, .per = 1min, .burst = 20})));
//
// A client is an IPv4 address, or the first 64 bits of an IPv6 address, which is the least that one
// subscriber has. All clients of Unix sockets count as one. Behind a proxy all clients have its
// address; then set `key`, which reads a field that the proxy sets.
//
// Memory is bounded: beyond `clients_max` clients the least recently seen one is removed, and
// begins with a full bucket when it comes again. Any fiber.
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

// A longer key is cut to this size.
inline constexpr std::size_t kRateKeyBytesMax = 256;

struct RateLimitOptions {
    std::uint64_t requests = 100;
    Nanoseconds per = std::chrono::seconds(1);
    std::uint64_t burst = 0;  // the size of a bucket; 0: as many as `requests`
    std::size_t clients_max = 65'536;
    // The client that a request counts for; if it returns nothing, the request is not limited. An
    // empty function: the client's address.
    std::function<std::optional<std::string>(const Request& request)> key = {};
};

// The token buckets without the middleware, for limits on other things. Any thread.
class RateLimiter {
public:
    // Misuse when the options give no rate, more than one request in a nanosecond, or a bucket that
    // takes more than a year to fill.
    static Result<std::unique_ptr<RateLimiter>> create(const RateLimitOptions& options);

    // Takes a token. If there is none, returns the time until there will be one.
    std::optional<Nanoseconds> take(std::string_view key, Instant now);

    std::size_t clients() const;
    static std::string key_of(const net::Address& address);

private:
    explicit RateLimiter(const RateLimitOptions& options);

    // A bucket is represented by the time at which it will be full again, which each token taken
    // moves on by interval_.
    struct Bucket {
        Instant full_at;
        std::list<std::string_view>::iterator place;  // in by_use
    };
    // Each shard has a part of the keys, and can be used while others are locked. It is a tree,
    // since a client that chooses its key could provoke collisions in a hash table.
    struct Shard {
        mutable SpinLock lock;  // guards all members below
        std::map<std::string, Bucket, std::less<>> buckets;
        std::list<std::string_view> by_use;  // views of the keys, the most recently used first
    };
    static constexpr std::size_t kShards = 16;

    Shard& shard_of(std::string_view key);

    const Nanoseconds interval_;  // between two tokens
    const Nanoseconds burst_;     // the time in which an empty bucket becomes full
    const std::size_t shard_clients_max_;
    std::array<Shard, kShards> shards_;
};

// Misuse as RateLimiter::create().
Result<Middleware> rate_limit(RateLimitOptions options);

}  // namespace weft::http
