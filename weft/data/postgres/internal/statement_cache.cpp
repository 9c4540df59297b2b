#include "weft/data/postgres/internal/statement_cache.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/postgres/internal/parameters.h"

namespace weft::data::postgres {

std::string cache_key(std::string_view text, const std::vector<Value>& values) {
    std::string key;
    key.reserve(text.size() + 1 + values.size());
    for (const Value& value : values) {
        key.push_back(static_cast<char>('A' + static_cast<int>(value.type())));
        // The type of an array depends on its items.
        if (value.type() == Type::Array) key.append(std::to_string(natural_type(value)));
    }
    key.push_back(' ');
    key.append(text);
    return key;
}

const Prepared* StatementCache::find(const std::string& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    WEFT_ASSERT(index_.size() == entries_.size(), "the index has every entry once");
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->prepared;
}

const Prepared& StatementCache::add(const std::string& key, Prepared prepared) {
    drop(key);
    entries_.push_front({key, std::move(prepared)});
    index_.emplace(entries_.front().key, entries_.begin());
    WEFT_ASSERT(index_.size() == entries_.size(), "the index has every entry once");
    WEFT_ASSERT(entries_.size() <= std::max<std::size_t>(statements_max_, 1),
                "evict() makes room before a statement is added");
    return entries_.front().prepared;
}

std::string StatementCache::evict() {
    if (entries_.size() < statements_max_ || entries_.empty()) return {};
    std::string name = entries_.back().prepared.name;
    drop(std::string(entries_.back().key));
    WEFT_ASSERT(entries_.size() < statements_max_ || statements_max_ == 0, "there is room now");
    return name;
}

void StatementCache::drop(const std::string& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return;
    auto entry = found->second;
    index_.erase(found);
    entries_.erase(entry);
    WEFT_ASSERT(index_.size() == entries_.size(), "the index has every entry once");
}

void StatementCache::clear() {
    index_.clear();
    entries_.clear();
}

}  // namespace weft::data::postgres
