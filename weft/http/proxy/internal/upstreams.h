// Upstreams: the servers that a proxy forwards to, their health, and the choice between them.
//
// Any fiber; nothing here waits, except in what origin() and admission() give.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/assert.h"
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
    ~Upstream() { WEFT_ASSERT(under_way() == 0, "a request uses an upstream that has gone"); }
    Upstream(const Upstream&) = delete;
    Upstream& operator=(const Upstream&) = delete;

    const std::string& authority() const { return authority_; }  // for the Host field
    Origin& origin() const { return *origin_; }
    Admission& admission() { return admission_; }

    // Whether it should get requests now: its last check has not failed, and it is not out because
    // of failures.
    bool is_well() const;
    bool has_failed_check() const { return check_failed_.load(std::memory_order_relaxed); }
    std::uint32_t under_way() const { return under_way_.load(std::memory_order_relaxed); }

    void begin();  // counts a request; end() must follow
    void end();
    void succeeded();                        // a request was answered
    void failed(const ProxyHealth& health);  // a request has failed by the upstream's fault
    void checked(bool good);                 // the outcome of a health check
    UpstreamStatus status() const;

private:
    const std::string authority_;
    const std::shared_ptr<Origin> origin_;  // shared with the pool
    Admission admission_;
    // All relaxed: no other memory is read through them, and it does no harm if a few requests more
    // go to an upstream that has just become unhealthy.
    Atomic<std::uint32_t> under_way_{0};
    Atomic<std::uint32_t> failures_in_row_{0};
    Atomic<std::int64_t> out_until_ns_{0};  // 0: not out
    Atomic<bool> check_failed_{false};
    Counter requests_;
    Counter failures_;
};

class Upstreams {
public:
    static Result<std::unique_ptr<Upstreams>> create(const ProxyOptions& options, ClientPool& pool);

    // Chooses an upstream for a request, and adds it to `tried`, a set of bits by index; none that
    // is in the set is chosen. Null if no other is healthy. But a first attempt goes to an
    // unhealthy one too, and gets null only if all have failed their health check.
    Upstream* choose(Balance balance, const net::Address& client, std::uint64_t& tried);
    const std::vector<std::unique_ptr<Upstream>>& all() const { return upstreams_; }

private:
    std::size_t first_choice(Balance balance, const net::Address& client);

    std::vector<std::unique_ptr<Upstream>> upstreams_;
    Atomic<std::size_t> turn_{0};
};

}  // namespace weft::http
