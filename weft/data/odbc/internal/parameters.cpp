#include "weft/data/odbc/internal/parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/internal/forms.h"

namespace weft::data::odbc {
namespace {

// Limits of nvarchar and varbinary in SQL Server; longer values use its types for long data.
constexpr std::size_t kWideUnitsMax = 4000;
constexpr std::size_t kBytesMax = 8000;
constexpr int kPrecisionMax = 38;  // of SQL Server's numbers

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void* Parameters::Buffer::address() {
    switch (c_type) {
    case SQL_C_SBIGINT: return &integer;
    case SQL_C_DOUBLE: return &real;
    case SQL_C_WCHAR: return wide.data();
    default: return bytes.data();
    }
}

void Parameters::put_text(Buffer& buffer, const std::string& text) {
    buffer.wide = to_wide(text);
    std::size_t units = buffer.wide.size();
    buffer.c_type = SQL_C_WCHAR;
    buffer.sql_type = units > kWideUnitsMax ? SQL_WLONGVARCHAR : SQL_WVARCHAR;
    buffer.size = std::max<SQLULEN>(units, 1);
    buffer.length = static_cast<SQLLEN>(units * sizeof(SQLWCHAR));
    if (units == 0) buffer.wide.push_back(0);  // an address, for drivers that take none for null
}

void Parameters::put_bytes(Buffer& buffer, const std::string& bytes) {
    buffer.bytes = bytes;
    buffer.c_type = SQL_C_BINARY;
    buffer.sql_type = bytes.size() > kBytesMax ? SQL_LONGVARBINARY : SQL_VARBINARY;
    buffer.size = std::max<SQLULEN>(bytes.size(), 1);
    buffer.length = static_cast<SQLLEN>(bytes.size());
}

// SQL Server needs the type of a number to compute with it; the others convert the text.
void Parameters::put_decimal(Buffer& buffer, const std::string& text, OdbcDialect dialect) {
    buffer.bytes = text;
    buffer.size = std::max<SQLULEN>(text.size(), 1);
    buffer.length = static_cast<SQLLEN>(text.size());
    auto digits = static_cast<int>(std::ranges::count_if(text, is_digit));
    bool is_plain = text.find_first_of("eE") == std::string::npos && digits <= kPrecisionMax;
    if (dialect != OdbcDialect::SqlServer || !is_plain) return;
    std::size_t dot = text.find('.');
    buffer.sql_type = SQL_DECIMAL;
    buffer.size = static_cast<SQLULEN>(digits);
    if (dot != std::string::npos) buffer.scale = static_cast<SQLSMALLINT>(text.size() - dot - 1);
}

auto Parameters::to_buffer(const Value& value, OdbcDialect dialect) -> Result<Buffer> {
    Buffer buffer;
    switch (value.type()) {
    case Type::Null: break;
    case Type::Boolean:
        buffer.c_type = SQL_C_BIT;
        buffer.sql_type = SQL_BIT;
        buffer.bytes = std::string(1, value.boolean() ? '\1' : '\0');
        buffer.length = 1;
        break;
    case Type::Integer:
        buffer.c_type = SQL_C_SBIGINT;
        buffer.sql_type = SQL_BIGINT;
        buffer.size = 19;
        buffer.integer = value.integer();
        buffer.length = sizeof(buffer.integer);
        break;
    case Type::Real:
        if (!std::isfinite(value.real()) && dialect != OdbcDialect::Postgres)
            return Error(ErrorKind::Misuse, "the database has no number that is not finite");
        buffer.c_type = SQL_C_DOUBLE;
        buffer.sql_type = SQL_DOUBLE;
        buffer.size = 53;
        buffer.real = value.real();
        buffer.length = sizeof(buffer.real);
        break;
    case Type::Bytes: put_bytes(buffer, value.text()); break;
    case Type::Array: return Error(ErrorKind::Misuse, "ODBC has no arrays; use JSON");
    case Type::Decimal: put_decimal(buffer, value.text(), dialect); break;
    case Type::Text:
        if (!forms::is_utf8(value.text()))
            return Error(ErrorKind::Misuse, "a text parameter is not UTF-8");
        put_text(buffer, value.text());
        break;
    default: put_text(buffer, value.text()); break;
    }
    return buffer;
}

Result<Parameters> Parameters::make(std::span<const Value> values, OdbcDialect dialect) {
    Parameters parameters;
    parameters.buffers_.reserve(values.size());
    for (const Value& value : values) {
        Result<Buffer> buffer = to_buffer(value, dialect);
        if (!buffer)
            return buffer.error().with_context("parameter",
                                               std::to_string(parameters.buffers_.size() + 1));
        parameters.buffers_.push_back(std::move(*buffer));
    }
    WEFT_ASSERT(parameters.buffers_.size() == values.size(), "one buffer per parameter");
    return parameters;
}

SQLRETURN Parameters::bind(SQLHSTMT statement) {
    SQLUSMALLINT position = 0;
    for (Buffer& buffer : buffers_) {
        WEFT_ASSERT(buffer.length >= 0 || buffer.length == SQL_NULL_DATA, "a length or null");
        SQLLEN room = std::max<SQLLEN>(buffer.length, 0);
        SQLRETURN code =
            SQLBindParameter(statement, ++position, SQL_PARAM_INPUT, buffer.c_type, buffer.sql_type,
                             buffer.size, buffer.scale, buffer.address(), room, &buffer.length);
        if (!SQL_SUCCEEDED(code)) return code;
    }
    return SQL_SUCCESS;
}

}  // namespace weft::data::odbc
