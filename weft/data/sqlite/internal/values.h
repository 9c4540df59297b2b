// Converts between Values and SQLite's five storage classes. On the executor's thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/rows.h"
#include "weft/data/value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weft::data::sqlite_internal {

// Whether SQLite copies the content of a bound value, or borrows it until the parameter is cleared.
enum class Binding : std::uint8_t { Copied, Borrowed };

// Misuse for a value that SQLite cannot store.
Result<void> bind(sqlite3* database, sqlite3_stmt* statement, int position, const Value& value,
                  Binding binding);

// Reads the rows of a statement. The declared type of a column says what a stored text or number
// means. Borrows the statement.
class Reader {
public:
    explicit Reader(sqlite3_stmt* statement);

    // Without rows, with the columns of the statement.
    Rows empty() const { return Rows(columns_); }
    // Appends the row that the statement stands on.
    Result<void> read(Rows& rows) const;

private:
    Result<void> read_cell(Rows& rows, int position) const;

    sqlite3_stmt* statement_;
    Columns columns_;          // null: none
    std::vector<Type> types_;  // by declaration; Null: as stored
};

}  // namespace weft::data::sqlite_internal
