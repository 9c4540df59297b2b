// What a driver reports, as errors of Weft.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/data/odbc/odbc.h"

namespace weft::data::odbc {

// The record that says most about a failure.
struct Diagnosis {
    std::string sqlstate = "HY000";
    SQLINTEGER native = 0;
    std::string text;
};
// Of the last call on this handle.
Diagnosis diagnose(SQLSMALLINT kind, SQLHANDLE handle);

// When it failed: what a driver says while it connects may quote the connection string, and what it
// says about a statement with parameters may quote those.
enum class Phase : std::uint8_t { Connect, WithoutValues, WithValues };
Error to_error(const Diagnosis& diagnosis, OdbcDialect dialect, Phase phase);

// The SQLSTATE that the contract has for it, which drivers tell more or less exactly.
std::string_view exact_state(const Diagnosis& diagnosis, OdbcDialect dialect, Phase phase);

}  // namespace weft::data::odbc
