// Upstreams: where a proxy sends requests, which of them is well, and whose turn it is.
//
// Any fiber; nothing here waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/metrics.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/client/internal/pool.h"
#include "weft/http/proxy/internal/admission.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/net/address.h"

namespace weft::http {

class Upstream {
public:
    Upstream(std::string authority, std::shared_ptr<Origin> origin, const ProxyOptions& options)
        : authority_(std::move(authority)), origin_(std::move(origin)), admission_(options) {}

    const std::string& authority() const { return authority_; }  // for the Host field
    Origin& origin() const { return *origin_; }
    Admission& admission() { return admission_; }

    bool is_well() const;  // now
    bool has_failed_check() const { return check_failed_.load(std::memory_order_relaxed); }
    std::uint32_t under_way() const { return under_way_.load(std::memory_order_relaxed); }

    void begin();
    void end();
    void succeeded();
    void failed(const ProxyHealth& health);
    void checked(bool good);
    UpstreamStatus status() const;

private:
    const std::string authority_;
    const std::shared_ptr<Origin> origin_;  // with the pool
    Admission admission_;
    // All relaxed: nothing is read through them, and a request more or less that goes to an
    // upstream which has just been found ill does no harm.
    Atomic<std::uint32_t> under_way_{0};
    Atomic<std::uint32_t> failures_in_row_{0};
    Atomic<std::int64_t> out_until_ns_{0};
    Atomic<bool> check_failed_{false};
    Counter requests_;
    Counter failures_;
};

class Upstreams {
public:
    static Result<std::unique_ptr<Upstreams>> create(const ProxyOptions& options, ClientPool& pool);

    // The next for a client, but none that was `tried` (bits by index, of the first 64); null when
    // none is well, but for a first try only when all have failed their check.
    Upstream* choose(Balance balance, const net::Address& client, std::uint64_t& tried);
    const std::vector<std::unique_ptr<Upstream>>& all() const { return upstreams_; }

private:
    std::size_t first_choice(Balance balance, const net::Address& client);

    std::vector<std::unique_ptr<Upstream>> upstreams_;
    Atomic<std::size_t> turn_{0};
};

}  // namespace weft::http
