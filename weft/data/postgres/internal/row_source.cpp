#include "weft/data/postgres/internal/row_source.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/connection.h"
#include "weft/fiber/cancel.h"

namespace weft::data::postgres {

PostgresRows::PostgresRows(PostgresConnection& connection, RowForm form, ResultPointer first)
    : connection_(connection), form_(std::move(form)), result_(std::move(first)) {}

Result<std::unique_ptr<RowSource>> PostgresRows::open(PostgresConnection& connection, RowForm form,
                                                      ResultPointer first) {
    ExecStatusType status = PQresultStatus(first.get());
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT) {
        connection.stop();
        return Error(ErrorKind::Misuse, "postgres: a copy takes CopyIn or CopyOut");
    }
    if (!form.columns) form.take_from(first.get());
    // tidy: allow new: the constructor is private
    auto* rows = new PostgresRows(connection, std::move(form), std::move(first));
    return std::unique_ptr<RowSource>(rows);
}

void PostgresRows::end() {
    WEFT_ASSERT(state_ == State::Open, "a statement ends once");
    state_ = State::Ended;
    result_.reset();
    connection_.end_exchange();
}

Result<void> PostgresRows::take(Rows& rows, std::size_t rows_max) {
    WEFT_ASSERT(!result_ || row_ <= PQntuples(result_.get()), "the next row is one of the result");
    while (result_ && row_ < PQntuples(result_.get()) && rows.size() < rows_max)
        WEFT_TRY(form_.append(result_.get(), row_++, rows));
    return {};
}

Result<void> PostgresRows::advance() {
    WEFT_ASSERT(!result_ || row_ == PQntuples(result_.get()), "all rows of the result were taken");
    result_ = WEFT_TRY(connection_.session().link().next());
    row_ = 0;
    if (result_ && PQresultStatus(result_.get()) == PGRES_FATAL_ERROR)
        return to_error(result_.get());
    return {};
}

Result<Rows> PostgresRows::fetch(std::size_t rows_max) {
    if (state_ == State::Closed)
        return data::to_error("postgres", kClosedState, "the cursor is closed");
    if (failure_) return *failure_;
    WEFT_DASSERT(rows_max > 0, "an empty batch would mean the end");
    Rows rows(form_.columns);
    while (state_ == State::Open) {
        Result<void> done = CancelToken::current().check();
        if (done) done = take(rows, rows_max);
        if (done && rows.size() >= rows_max) return rows;
        // Continue only with what has arrived.
        if (done && !rows.empty() && !connection_.session().link().has_next()) return rows;
        if (done) done = advance();
        if (done && result_) continue;
        end();
        if (done) return rows;
        failure_ = done.error();
        if (rows.empty()) return *failure_;
    }
    return rows;
}

void PostgresRows::close() {
    State before = std::exchange(state_, State::Closed);
    result_.reset();
    if (before == State::Open) connection_.stop();
}

}  // namespace weft::data::postgres
