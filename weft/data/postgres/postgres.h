// PostgreSQL, by libpq without a thread: every wait parks the fiber that calls.
//
//     Database db = WEFT_TRY(open_postgres({.connection_string = "postgres://shop@db/shop"}));
//
// Connection strings are libpq's, as URLs or keywords, with several hosts, target_session_attrs and
// all modes of TLS. Not taken over from there: service files, and Kerberos encryption. Names are
// looked up by net/resolver.h, so search domains do not count.
//
// A statement that is cancelled or out of time is stopped at the server before the call returns,
// and its connection goes on; where the server does not answer within kTidyTimeout the connection
// is closed. A cancel never reaches another statement.
//
// Statements are prepared when they are first used, and kept prepared, the last so many of each
// connection. Types: docs/data/postgres.md. Copies and notifications: copy.h, notifications.h.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "weft/base/result.h"
#include "weft/data/database.h"
#include "weft/data/options.h"
#include "weft/data/provider.h"

namespace weft::data {

inline constexpr std::size_t kPostgresStatementsDefault = 256;

struct PostgresOptions {
    // "postgres://user:password@host:5432/database?sslmode=verify-full", or "host=... dbname=...".
    // Secret: it is shown nowhere.
    std::string connection_string = {};
    // Off for poolers that give each transaction another session, such as pgbouncer before 1.21.
    // What the types of open parameters are ("select $1") is then told by their values alone.
    bool prepare = true;
    std::size_t statements_max = kPostgresStatementsDefault;  // kept prepared, per connection
};

// Misuse for a connection string that cannot be read; what is in it is not connected to yet.
Result<std::unique_ptr<Provider>> postgres_provider(PostgresOptions options,
                                                    Access access = Access::ReadWrite);
Result<Database> open_postgres(PostgresOptions options, DatabaseOptions database = {});

}  // namespace weft::data
