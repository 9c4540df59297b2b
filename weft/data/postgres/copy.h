// COPY: many rows at once, in PostgreSQL's own forms, over a connection that is reserved for it.
//
//     Lease lease = WEFT_TRY(db.reserve());
//     CopyIn copy = WEFT_TRY(CopyIn::start(*lease, "copy users (id, name) from stdin"));
//     WEFT_TRY(copy.write("1\tAda\n2\tGrace\n"));
//     std::uint64_t rows = WEFT_TRY(copy.finish());
//
// Memory stays flat: a write waits while the server does not take more, a read takes what has come.
// A copy that is destroyed, cancelled or out of time before its end is given up, and nothing of it
// is stored; its connection goes on. Misuse on a connection of another provider.
//
// One fiber at a time; the connection outlives the copy.
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

    // Any part of the data, at whatever place it was cut. An error ends the copy.
    Result<void> write(std::string_view bytes);
    // How many rows were stored. The copy has ended, whatever it gives.
    Result<std::uint64_t> finish();
    void give_up();  // idempotent

private:
    explicit CopyIn(postgres::PostgresConnection& connection) : connection_(&connection) {}
    Result<void> put(std::string_view bytes);
    // The copy is over, because of this or of what the server has to say.
    Error fail(const Error& error);

    postgres::PostgresConnection* connection_;  // null when the copy has ended
    std::size_t unsent_ = 0;                    // bytes that libpq may still have
};

class CopyOut {
public:
    static Result<CopyOut> start(Connection& connection, const Statement& statement);
    CopyOut(CopyOut&& other) noexcept
        : connection_(std::exchange(other.connection_, nullptr)), ended_(other.ended_) {}
    CopyOut& operator=(CopyOut&&) = delete;
    ~CopyOut() { give_up(); }

    // Whole rows, about kCopyChunkBytes of them if so many have come; nothing at the end.
    Result<std::string> read();
    void give_up();  // idempotent

private:
    explicit CopyOut(postgres::PostgresConnection& connection) : connection_(&connection) {}
    Result<void> end();

    postgres::PostgresConnection* connection_;  // null when the copy has ended
    bool ended_ = false;                        // by its last row
};

}  // namespace weft::data
