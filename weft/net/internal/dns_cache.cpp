#include "weft/net/internal/dns_cache.h"

#include <algorithm>
#include <utility>

#include "weft/net/resolver.h"

namespace weft::net {

void DnsCache::erase(std::list<Entry>::iterator entry) {
    by_name_.erase(entry->name);
    entries_.erase(entry);
}

std::optional<DnsOutcome> DnsCache::find(std::string_view name, Instant now) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    if (found->second->expires > now) return found->second->outcome;
    erase(found->second);
    return std::nullopt;
}

void DnsCache::put(const std::string& name, const DnsAnswer& answer, Instant now) {
    if (auto found = by_name_.find(name); found != by_name_.end()) erase(found->second);
    if (names_max_ == 0 || (!answer.outcome && answer.ttl == Nanoseconds::zero())) return;
    if (entries_.size() == names_max_) erase(entries_.begin());
    Nanoseconds ttl = std::clamp(answer.ttl, kDnsTtlMin, kDnsTtlMax);
    entries_.push_back({name, answer.outcome, now + ttl});
    by_name_.emplace(entries_.back().name, std::prev(entries_.end()));
}

}  // namespace weft::net
