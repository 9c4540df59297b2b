#include "weft/data/odbc/internal/statement_cache.h"

#include <algorithm>

#include "weft/base/assert.h"

namespace weft::data::odbc {

std::string StatementCache::key_of(const std::string& text, std::span<const Value> values) {
    std::string key = text;
    key.push_back('\0');
    for (const Value& value : values)
        key.push_back(static_cast<char>('a' + static_cast<int>(value.type())));
    return key;
}

StatementHandle StatementCache::take(const std::string& key) {
    auto found = std::ranges::find(entries_, key, [](const auto& entry) { return entry.first; });
    if (found == entries_.end()) return {};
    StatementHandle handle = std::move(found->second);
    entries_.erase(found);
    return handle;
}

void StatementCache::put(std::string key, StatementHandle handle) {
    WEFT_ASSERT(handle, "a cached statement has a handle");
    if (capacity_ == 0) return;
    if (entries_.size() >= capacity_) entries_.pop_back();
    entries_.emplace_front(std::move(key), std::move(handle));
    WEFT_ASSERT(entries_.size() <= capacity_, "the cache is bounded");
}

}  // namespace weft::data::odbc
