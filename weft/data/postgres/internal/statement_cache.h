// The prepared statements of one connection; the least recently used is evicted first. One fiber at
// a time.
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
    std::string name = {};                  // on the server
    std::vector<Oid> parameter_types = {};  // as the server reports them
    std::vector<Oid> column_types = {};
    Columns columns = {};
    int format = 0;                // of the rows
    bool changes_session = false;  // it may change session state
};

// The key of a statement: its text and the types of its values, because these determine the types
// of parameters that the text leaves open.
std::string cache_key(std::string_view text, const std::vector<Value>& values);

class StatementCache {
public:
    // The prefix must be unique to this connection: behind a pooler several share one server
    // session.
    StatementCache(std::string prefix, std::size_t statements_max)
        : prefix_(std::move(prefix)), statements_max_(statements_max) {}

    // Null if it is not cached. The pointer is valid until the next add(), evict(), drop() or
    // clear().
    const Prepared* find(const std::string& key);
    std::string next_name() { return prefix_ + std::to_string(++count_); }
    const Prepared& add(const std::string& key, Prepared prepared);
    // Removes the least recently used statement if the cache is full, and returns its name, for
    // deallocation; empty if there is room.
    std::string evict();
    void drop(const std::string& key);
    // Called when the server has dropped all prepared statements.
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
