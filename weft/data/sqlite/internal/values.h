// Between values and SQLite's five storage classes.
#pragma once

#include <string>

#include "weft/base/result.h"
#include "weft/data/rows.h"
#include "weft/data/value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weft::data::sqlite_internal {

// Misuse for what SQLite cannot hold.
Result<void> bind(sqlite3* database, sqlite3_stmt* statement, int position, const Value& value);

// How the columns of a statement are read: their declared types say what a text or number means.
class Reader {
public:
    explicit Reader(sqlite3_stmt* statement);

    const Columns& columns() const { return columns_; }
    // The row that the statement stands on.
    Result<void> read(Rows& rows) const;

private:
    Result<Value> cell(int position) const;

    sqlite3_stmt* statement_;
    Columns columns_;
    std::vector<Type> types_;  // by declaration; Null: whatever is stored
};

}  // namespace weft::data::sqlite_internal
