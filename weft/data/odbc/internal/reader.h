// Reader: reads the rows of a statement by the types of its columns. Borrows the statement. On the
// thread of the work.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/odbc/internal/wide.h"
#include "weft/data/odbc/odbc.h"
#include "weft/data/rows.h"
#include "weft/data/value.h"

namespace weft::data::odbc {

// The limit of one value, which a driver delivers in pieces.
inline constexpr std::size_t kValueBytesMax = std::size_t{1} << 30;

class Reader {
public:
    // For a statement that was executed. Without columns it has no rows.
    static Result<Reader> make(SQLHSTMT statement, OdbcDialect dialect);

    const Columns& columns() const { return columns_; }
    bool has_rows() const { return !forms_.empty(); }
    // Appends the row that the statement stands on.
    Result<void> read(Rows& rows);

private:
    // The C type in which a value is requested from the driver.
    enum class Form : std::uint8_t { Text, Bytes, Bit, Integer, Real };
    struct ColumnForm {
        Form form = Form::Text;
        Type type = Type::Text;  // the type of the value, if its text has that form
    };

    Reader(SQLHSTMT statement, OdbcDialect dialect) : statement_(statement), dialect_(dialect) {}

    static ColumnForm form_of(SQLSMALLINT sql_type, const std::string& name, bool is_unsigned,
                              OdbcDialect dialect);
    Result<Column> describe(SQLUSMALLINT position);
    Result<Value> cell(SQLUSMALLINT position, ColumnForm form);
    template <class Number>
    Result<std::optional<Number>> number(SQLUSMALLINT position, SQLSMALLINT c_type);
    // Reads a value piece by piece; false if it is null.
    template <class Buffer>
    Result<bool> pieces(SQLUSMALLINT position, SQLSMALLINT c_type, Buffer& into);
    Result<Value> text_cell(SQLUSMALLINT position, Type type);
    Error error() const;
    Error not_text(SQLUSMALLINT position) const;

    SQLHSTMT statement_;
    OdbcDialect dialect_;
    Columns columns_;
    std::vector<ColumnForm> forms_;
    Wide wide_;  // a buffer that is reused, like bytes_
    std::string bytes_;
};

// Converts text of the database to a value of the column's type; Text if it does not have that
// form.
Value typed_value(Type type, std::string text);

}  // namespace weft::data::odbc
