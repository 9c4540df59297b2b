#include <sqlite3.h>

#include <utility>

#include "weft/base/assert.h"
#include "weft/data/sqlite/internal/connection.h"

namespace weft::data::sqlite_internal {

Prepared::~Prepared() {
    if (statement_) connection_->give_back(std::move(text_), statement_);
}

void Prepared::rewind() {
    WEFT_ASSERT(statement_, "a moved-from statement is not used");
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
}

sqlite3_stmt* StatementCache::take(const std::string& text) {
    auto found = by_text_.find(text);
    if (found == by_text_.end()) return nullptr;
    WEFT_ASSERT(by_text_.size() == entries_.size(), "the index has every entry once");
    auto entry = found->second;
    sqlite3_stmt* statement = entry->statement;
    by_text_.erase(found);
    entries_.erase(entry);
    return statement;
}

void StatementCache::put(std::string text, sqlite3_stmt* statement) {
    if (capacity_ == 0 || by_text_.contains(text)) {
        sqlite3_finalize(statement);
        return;
    }
    WEFT_DASSERT(sqlite3_stmt_busy(statement) == 0, "a cached statement was reset");
    if (entries_.size() == capacity_) {
        by_text_.erase(entries_.back().text);
        sqlite3_finalize(entries_.back().statement);
        entries_.pop_back();
    }
    entries_.push_front({std::move(text), statement});
    by_text_.emplace(entries_.front().text, entries_.begin());
    WEFT_ASSERT(entries_.size() <= capacity_, "the cache is bounded");
    WEFT_ASSERT(by_text_.size() == entries_.size(), "the index has every entry once");
}

void StatementCache::clear() {
    by_text_.clear();
    for (Entry& entry : entries_) sqlite3_finalize(entry.statement);
    entries_.clear();
}

}  // namespace weft::data::sqlite_internal
