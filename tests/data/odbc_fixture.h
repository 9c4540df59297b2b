// The databases behind ODBC that are there: connection strings, and the servers they lead to, each
// started with the first test that asks for it and ended with the program.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/data/live_server.h"
#include "tests/data/postgres_fixture.h"
#include "weft/data/odbc/odbc.h"
#include "weft/testing/sockets.h"

namespace weft::data::testing {

#ifdef WEFT_ODBC_SQLITE3ODBC
inline constexpr bool kOdbcSqlite = true;
#else
inline constexpr bool kOdbcSqlite = false;
#define WEFT_ODBC_SQLITE3ODBC ""
#endif
#if defined(WEFT_ODBC_PSQLODBCW) && defined(WEFT_HAS_POSTGRES)
inline constexpr bool kOdbcPostgres = true;
#else
inline constexpr bool kOdbcPostgres = false;
#undef WEFT_ODBC_PSQLODBCW
#define WEFT_ODBC_PSQLODBCW ""
#endif
#if defined(WEFT_ODBC_MAODBC) && defined(WEFT_HAS_MARIADB)
inline constexpr bool kOdbcMariaDb = true;
#else
inline constexpr bool kOdbcMariaDb = false;
#undef WEFT_ODBC_MAODBC
#define WEFT_ODBC_MAODBC ""
#endif

#ifdef WEFT_ODBC_TDSODBC
inline constexpr bool kOdbcTds = true;
#else
inline constexpr bool kOdbcTds = false;
#define WEFT_ODBC_TDSODBC ""
#endif

// Files of SQLite, each of which is there as long as this.
class OdbcFiles {
public:
    std::string next() {
        std::string path = folder_.path() + "/" + std::to_string(++count_) + ".db";
        return "Driver=" WEFT_ODBC_SQLITE3ODBC ";Timeout=5000;Database=" + path;
    }

private:
    weft::testing::Folder folder_;
    int count_ = 0;
};

// `options` as libpq takes them.
inline std::string odbc_postgres(const std::string& options = {}) {
    PostgresServer& server = PostgresServer::get();
    return "Driver=" WEFT_ODBC_PSQLODBCW ";Server=127.0.0.1;Port=" + server.word("port") +
           ";Database=postgres;UID=weft;PWD=" + server.word("password") + ";pqopt={" + options +
           "}";
}

inline LiveServer& mariadb_server() {
    static LiveServer server(WEFT_MARIADB_SERVER);
    return server;
}

inline std::string odbc_mariadb(const std::string& database) {
    LiveServer& server = mariadb_server();
    return "Driver=" WEFT_ODBC_MAODBC ";Server=127.0.0.1;Port=" + server.word("port") +
           ";Database=" + database + ";UID=weft;PWD=" + server.word("password");
}

// FreeTDS against a server of our own, which is a double: tds/server.
inline LiveServer& tds_server() {
    static LiveServer server(WEFT_TDS_SERVER);
    return server;
}

inline std::string odbc_tds(const std::string& database) {
    LiveServer& server = tds_server();
    return "Driver=" WEFT_ODBC_TDSODBC ";TDS_Version=7.4;Server=127.0.0.1;Port=" +
           server.word("port") + ";Database=" + database +
           ";UID=weft;PWD=" + server.word("password");
}

}  // namespace weft::data::testing
