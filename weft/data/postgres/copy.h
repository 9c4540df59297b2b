// COPY: transfers many rows at once in PostgreSQL's own formats, over a reserved connection.
//
//     Lease lease = WEFT_TRY(db.reserve());
//     CopyIn copy = WEFT_TRY(CopyIn::start(*lease, "copy users (id, name) from stdin"));
//     WEFT_TRY(copy.write("1\tAda\n2\tGrace\n"));
//     std::uint64_t rows = WEFT_TRY(copy.finish());
//
// Memory use is bounded: write() waits while the server accepts no more, read() returns what has
// arrived. A copy that is destroyed, cancelled or times out before its end is aborted and stores
// nothing; its connection stays usable. Misuse on a connection of another provider.
//
// One fiber at a time. The connection must outlive the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/result.h"
#include "weft/data/provider.h"
#include "weft/data/statement.h"

namespace weft::data {

namespace postgres {
class PostgresConnection;
}

inline constexpr std::size_t kCopyChunkBytes = 65'536;

class CopyIn {
public:
    static Result<CopyIn> start(Connection& connection, const Statement& statement);
    CopyIn(CopyIn&& other) noexcept
        : connection_(std::exchange(other.connection_, nullptr)), unsent_(other.unsent_) {}
    CopyIn& operator=(CopyIn&&) = delete;
    ~CopyIn() { give_up(); }

    // Writes any part of the data; parts may end anywhere, also within a row. An error ends the
    // copy.
    Result<void> write(std::string_view bytes);
    // Ends the copy and returns how many rows were stored. After an error it has ended as well.
    Result<std::uint64_t> finish();
    void give_up();  // idempotent

private:
    explicit CopyIn(postgres::PostgresConnection& connection) : connection_(&connection) {}
    Result<void> put(std::string_view bytes);
    // Ends the copy; returns the error.
    Error fail(const Error& error);

    postgres::PostgresConnection* connection_;  // null when the copy has ended
    std::size_t unsent_ = 0;                    // bytes that libpq may still buffer
};

class CopyOut {
public:
    static Result<CopyOut> start(Connection& connection, const Statement& statement);
    CopyOut(CopyOut&& other) noexcept
        : connection_(std::exchange(other.connection_, nullptr)), ended_(other.ended_) {}
    CopyOut& operator=(CopyOut&&) = delete;
    ~CopyOut() { give_up(); }

    // Returns whole rows: those that have arrived, up to about kCopyChunkBytes. Empty at the end.
    Result<std::string> read();
    void give_up();  // idempotent

private:
    explicit CopyOut(postgres::PostgresConnection& connection) : connection_(&connection) {}
    Result<void> end();

    postgres::PostgresConnection* connection_;  // null when the copy has ended
    bool ended_ = false;                        // its last row was received
};

}  // namespace weft::data
