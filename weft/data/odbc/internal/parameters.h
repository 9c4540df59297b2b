// Parameters: values as drivers accept them. On the thread of the work.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/odbc/internal/wide.h"
#include "weft/data/odbc/odbc.h"
#include "weft/data/value.h"

namespace weft::data::odbc {

// The parameters of one execution, in buffers that the driver reads during the call. A type that
// not every driver has (decimals, dates, times, UUIDs, JSON) is sent as text, which the database
// converts to the type that the statement needs. Errors name the parameter and the reason, never
// its value.
class Parameters {
public:
    static Result<Parameters> make(std::span<const Value> values, OdbcDialect dialect);

    Parameters(Parameters&&) = default;  // the buffers keep their addresses
    Parameters& operator=(Parameters&&) = default;

    // SQL_SUCCESS, or the driver's answer to the first parameter that it refused.
    SQLRETURN bind(SQLHSTMT statement);

private:
    struct Buffer {
        SQLSMALLINT c_type = SQL_C_CHAR;
        SQLSMALLINT sql_type = SQL_VARCHAR;
        SQLULEN size = 1;
        SQLSMALLINT scale = 0;
        SQLLEN length = SQL_NULL_DATA;  // in bytes
        std::string bytes;
        Wide wide;
        std::int64_t integer = 0;
        double real = 0;

        void* address();
    };

    Parameters() = default;
    static Result<Buffer> to_buffer(const Value& value, OdbcDialect dialect);
    static void put_text(Buffer& buffer, const std::string& text);
    static void put_bytes(Buffer& buffer, const std::string& bytes);
    static void put_decimal(Buffer& buffer, const std::string& text, OdbcDialect dialect);

    std::vector<Buffer> buffers_;
};

}  // namespace weft::data::odbc
