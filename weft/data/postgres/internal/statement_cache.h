// The prepared statements of one connection, the least recently used of which goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/data/postgres/internal/types.h"
#include "weft/data/rows.h"
#include "weft/data/value.h"

namespace weft::data::postgres {

struct Prepared {
    std::string name = {};                  // at the server
    std::vector<Oid> parameter_types = {};  // as the server has them
    std::vector<Oid> column_types = {};
    Columns columns = {};
    int format = 0;                // of the rows
    bool changes_session = false;  // it may leave something behind that others would see
};

// What a statement is found by: its text and the kinds of its values, because these decide what the
// server makes of parameters whose types the text leaves open.
std::string cache_key(std::string_view text, const std::vector<Value>& values);

class StatementCache {
public:
    // The prefix is this connection's alone: behind a pooler several share one session.
    StatementCache(std::string prefix, std::size_t statements_max)
        : prefix_(std::move(prefix)), statements_max_(statements_max) {}

    // Null if it is not here. Valid until the next add() or drop.
    const Prepared* find(const std::string& key);
    std::string next_name() { return prefix_ + std::to_string(++count_); }
    const Prepared& add(const std::string& key, Prepared prepared);
    // The name of the one that has to go before another is added; empty if there is room.
    std::string evict();
    void drop(const std::string& key);
    // The server has forgotten them all.
    void clear();
    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string key;
        Prepared prepared;
    };

    std::string prefix_;
    std::size_t statements_max_;
    std::uint64_t count_ = 0;
    std::list<Entry> entries_;  // the most recently used first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;  // by Entry::key
};

}  // namespace weft::data::postgres
