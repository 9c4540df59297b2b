// Statements that were prepared, by their text and the types of their values.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <utility>

#include "weft/data/odbc/internal/handle.h"
#include "weft/data/value.h"

namespace weft::data::odbc {

// Owning worker only. The least recently used is given up.
class StatementCache {
public:
    explicit StatementCache(std::size_t most) : most_(most) {}

    // A driver prepares a statement for the types that its parameters have.
    static std::string key_of(const std::string& text, std::span<const Value> values);

    StatementHandle take(const std::string& key);  // empty if there is none
    void put(std::string key, StatementHandle handle);
    void clear() { entries_.clear(); }

private:
    std::size_t most_;
    std::list<std::pair<std::string, StatementHandle>> entries_;  // the last used first
};

}  // namespace weft::data::odbc
