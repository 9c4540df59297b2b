// PostgreSQL, by libpq without a thread: every wait parks the fiber that calls.
//
//     Database db = WEFT_TRY(open_postgres({.connection_string = "postgres://shop@db/shop"}));
//
// Connection strings are those of libpq, as URLs or keywords, with several hosts,
// target_session_attrs and all TLS modes. Not supported: service files and Kerberos encryption.
// Host names are resolved by net/resolver.h, which does not apply search domains.
//
// A statement that is cancelled or times out is stopped at the server before the call returns, and
// its connection stays usable; if the server does not answer within kTidyTimeout, the connection is
// closed. A cancel never reaches another statement.
//
// A statement is prepared when it is first used; each connection keeps its most recently used ones
// prepared. Types: docs/data/postgres.md. Copies and notifications: copy.h, notifications.h. Any
// fiber, any thread.
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
    // Set to false for poolers that give each transaction another session, such as pgbouncer before
    // 1.21. The types of parameters that the text leaves open ("select $1") then follow from their
    // values.
    bool prepare = true;
    std::size_t statements_max = kPostgresStatementsDefault;  // kept prepared, per connection
};

// Misuse for a connection string that cannot be parsed. Does not connect.
Result<std::unique_ptr<Provider>> postgres_provider(PostgresOptions options,
                                                    Access access = Access::ReadWrite);
Result<Database> open_postgres(PostgresOptions options, DatabaseOptions database = {});

}  // namespace weft::data
