// Prepared statements, by their text and the types of their values.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <utility>

#include "weft/data/odbc/internal/handle.h"
#include "weft/data/value.h"

namespace weft::data::odbc {

// One thread at a time, as its Session. The least recently used statement is evicted. Owns the
// statements that it holds.
class StatementCache {
public:
    explicit StatementCache(std::size_t capacity) : capacity_(capacity) {}

    // The key contains the types of the values, because a driver prepares a statement for them.
    static std::string key_of(const std::string& text, std::span<const Value> values);

    StatementHandle take(const std::string& key);  // empty if there is none
    void put(std::string key, StatementHandle handle);
    void clear() { entries_.clear(); }

private:
    std::size_t capacity_;
    std::list<std::pair<std::string, StatementHandle>> entries_;  // most recently used first
};

}  // namespace weft::data::odbc
