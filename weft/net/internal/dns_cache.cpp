#include "weft/net/internal/dns_cache.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/net/resolver.h"

namespace weft::net {

void DnsCache::erase(std::list<Entry>::iterator entry) {
    auto found = by_name_.find(entry->name);
    WEFT_ASSERT(found != by_name_.end() && found->second == entry,
                "the index has each entry by its own name");
    by_name_.erase(found);
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
    bool is_new = by_name_.emplace(entries_.back().name, std::prev(entries_.end())).second;
    WEFT_ASSERT(is_new, "an older entry of the name was erased before");
    WEFT_DASSERT(entries_.size() <= names_max_, "the oldest entry has made room");
    WEFT_DASSERT(by_name_.size() == entries_.size(), "the index has all entries and no others");
}

}  // namespace weft::net
