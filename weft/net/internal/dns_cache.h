// The answers of the DNS, until they expire.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/net/address.h"

namespace weft::net {

// Addresses, or why there are none.
using DnsOutcome = Result<std::vector<IpAddress>>;

struct DnsAnswer {
    DnsOutcome outcome;
    Nanoseconds ttl{};  // as the DNS gave it; an error with zero is not cached
};

// Bounded: the oldest entry is evicted first. One caller at a time.
class DnsCache {
public:
    explicit DnsCache(std::size_t names_max) : names_max_(names_max) {}

    std::optional<DnsOutcome> find(std::string_view name, Instant now);
    void put(const std::string& name, const DnsAnswer& answer, Instant now);
    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string name;
        DnsOutcome outcome;
        Instant expires;
    };
    void erase(std::list<Entry>::iterator entry);

    const std::size_t names_max_;
    std::list<Entry> entries_;  // the oldest first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_name_;
};

}  // namespace weft::net
