// Converts a driver's reports to Errors. Any thread that may use the handle.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/data/odbc/odbc.h"

namespace weft::data::odbc {

// The most informative diagnostic record of a failure.
struct Diagnosis {
    std::string sqlstate = "HY000";
    SQLINTEGER native = 0;
    std::string text;
};
// The diagnosis of the last call on this handle.
Diagnosis diagnose(SQLSMALLINT kind, SQLHANDLE handle);

// When the call failed: messages during a connect may quote the connection string, and those about
// a statement with parameters may quote their values.
enum class Phase : std::uint8_t { Connect, WithoutValues, WithValues };
Error to_error(const Diagnosis& diagnosis, OdbcDialect dialect, Phase phase);

// The SQLSTATE as failure.h defines it, which drivers report more or less exactly.
std::string_view exact_state(const Diagnosis& diagnosis, OdbcDialect dialect, Phase phase);

}  // namespace weft::data::odbc
