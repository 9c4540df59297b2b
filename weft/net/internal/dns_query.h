// One question to the DNS, by c-ares.
#pragma once

#include <string>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/net/internal/dns_cache.h"
#include "weft/net/resolver.h"

namespace weft::net {

// Parks the fiber, or blocks a plain thread, until the answer is there. Cancelled, TimedOut and the
// like are errors of the call; what the DNS says, also that there is no such name, is the answer.
Result<DnsAnswer> query_dns(const std::string& name, const ResolverOptions& options,
                            Deadline deadline);

}  // namespace weft::net
