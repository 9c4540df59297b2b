#include "weft/data/postgres/copy.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/connection.h"
#include "weft/fiber/cancel.h"

namespace weft::data {
namespace {

using postgres::Link;
using postgres::PostgresConnection;
using postgres::ResultPointer;

Error ended() { return to_error("postgres", kClosedState, "the copy has ended"); }

// Starts the statement, and checks that it is a copy in this direction.
Result<PostgresConnection*> begin(Connection& connection, const Statement& statement,
                                  ExecStatusType direction) {
    auto* target = dynamic_cast<PostgresConnection*>(&connection);
    if (!target) return Error(ErrorKind::Misuse, "a copy needs a connection to PostgreSQL");
    auto [form, first] = WEFT_TRY(target->start(statement));
    if (PQresultStatus(first.get()) == direction) return target;
    target->stop();
    return Error(ErrorKind::Misuse, direction == PGRES_COPY_IN
                                        ? "the statement is no copy from stdin"
                                        : "the statement is no copy to stdout");
}

// Reads the server's results at the end of a copy.
Result<std::uint64_t> collect(Link& link) {
    std::uint64_t rows = 0;
    std::optional<Error> failure;
    for (;;) {
        ResultPointer result = WEFT_TRY(link.next());
        if (!result) break;
        ExecStatusType status = PQresultStatus(result.get());
        if (status == PGRES_FATAL_ERROR && !failure) failure = postgres::to_error(result.get());
        if (link.is_broken()) break;
        // The copy still runs; the caller must end it.
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT) break;
        std::string_view count = PQcmdTuples(result.get());
        std::from_chars(count.data(), count.data() + count.size(), rows);
    }
    if (failure) return *failure;
    return rows;
}

}  // namespace

// ---------------------------------------------------------------- to the server

Result<CopyIn> CopyIn::start(Connection& connection, const Statement& statement) {
    PostgresConnection* target = WEFT_TRY(begin(connection, statement, PGRES_COPY_IN));
    return CopyIn(*target);
}

Error CopyIn::fail(const Error& error) {
    give_up();
    return error;
}

Result<void> CopyIn::put(std::string_view bytes) {
    WEFT_ASSERT(bytes.size() <= kCopyChunkBytes, "write() divides the data into chunks");
    WEFT_TRY(CancelToken::current().check());
    Link& link = connection_->session().link();
    int accepted = 0;
    while ((accepted = PQputCopyData(link.pg(), bytes.data(), static_cast<int>(bytes.size()))) == 0)
        WEFT_TRY(link.flush());
    if (accepted < 0) {
        // The server has ended the copy.
        Result<std::uint64_t> told = collect(link);
        return told ? postgres::connection_lost() : told.error();
    }
    unsent_ += bytes.size();
    if (unsent_ < kCopyChunkBytes) return {};
    unsent_ = 0;
    return link.flush();
}

Result<void> CopyIn::write(std::string_view bytes) {
    if (!connection_) return ended();
    while (!bytes.empty()) {
        std::string_view part = bytes.substr(0, kCopyChunkBytes);
        bytes.remove_prefix(part.size());
        Result<void> taken = put(part);
        if (!taken) return fail(taken.error());
    }
    return {};
}

Result<std::uint64_t> CopyIn::finish() {
    if (!connection_) return ended();
    Link& link = connection_->session().link();
    // Negative if the server has ended the copy; collect() then returns its error.
    while (PQputCopyEnd(link.pg(), nullptr) == 0) {
        Result<void> flushed = link.flush();
        if (!flushed) return fail(flushed.error());
    }
    Result<void> flushed = link.flush();
    Result<std::uint64_t> rows = flushed ? collect(link) : Result<std::uint64_t>(flushed.error());
    if (!rows) return fail(rows.error());
    std::exchange(connection_, nullptr)->end_exchange();
    return rows;
}

void CopyIn::give_up() {
    if (connection_) std::exchange(connection_, nullptr)->stop();
}

// ---------------------------------------------------------------- from the server

Result<CopyOut> CopyOut::start(Connection& connection, const Statement& statement) {
    PostgresConnection* target = WEFT_TRY(begin(connection, statement, PGRES_COPY_OUT));
    return CopyOut(*target);
}

Result<void> CopyOut::end() {
    WEFT_ASSERT(!ended_, "a copy ends once");
    Result<std::uint64_t> rows = collect(connection_->session().link());
    if (!rows) return rows.error();
    ended_ = true;
    std::exchange(connection_, nullptr)->end_exchange();
    return {};
}

Result<std::string> CopyOut::read() {
    if (ended_) return std::string();
    if (!connection_) return ended();
    Link& link = connection_->session().link();
    std::string rows;
    while (rows.size() < kCopyChunkBytes) {
        char* row = nullptr;
        int count = PQgetCopyData(link.pg(), &row, 1);
        if (count > 0) rows.append(row, static_cast<std::size_t>(count));
        PQfreemem(row);
        if (count > 0) continue;
        if (count == 0 && !rows.empty()) return rows;
        Result<void> done;
        if (count == 0) {
            done = link.receive();
        } else if (rows.empty()) {
            done = end();
        }
        if (!done) {
            give_up();
            return done.error();
        }
        if (count < 0) return rows;
    }
    return rows;
}

void CopyOut::give_up() {
    if (connection_) std::exchange(connection_, nullptr)->stop();
}

}  // namespace weft::data
