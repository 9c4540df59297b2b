// The rows of a statement as they come, for cursors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "weft/base/result.h"
#include "weft/data/postgres/internal/session.h"
#include "weft/data/provider.h"

namespace weft::data::postgres {

class PostgresConnection;

class PostgresRows final : public RowSource {
public:
    // `first` is the first result of the statement, which has not failed.
    static Result<std::unique_ptr<RowSource>> open(PostgresConnection& connection, RowForm form,
                                                   ResultPointer first);
    ~PostgresRows() override { close(); }

    const Columns& columns() const override { return form_.columns; }
    Result<Rows> fetch(std::size_t rows_max) override;
    void close() override;

private:
    enum class State : std::uint8_t { Open, Ended, Closed };

    PostgresRows(PostgresConnection& connection, RowForm form, ResultPointer first);
    // What is left of the result at hand.
    Result<void> take(Rows& rows, std::size_t rows_max);
    Result<void> advance();
    // The statement is over; the connection may be used for others.
    void end();

    PostgresConnection& connection_;
    RowForm form_;
    ResultPointer result_;          // at hand; null when the statement has ended
    int row_ = 0;                   // the next of it
    std::optional<Error> failure_;  // what came after rows that were given out
    State state_ = State::Open;
};

}  // namespace weft::data::postgres
