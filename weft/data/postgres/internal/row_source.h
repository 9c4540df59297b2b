// PostgresRows: the rows of a statement as they arrive, for cursors. One fiber at a time.
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
    // `first` is the first result of the statement, which was no error.
    static Result<std::unique_ptr<RowSource>> open(PostgresConnection& connection, RowForm form,
                                                   ResultPointer first);
    ~PostgresRows() override { close(); }

    const Columns& columns() const override { return form_.columns; }
    Result<Rows> fetch(std::size_t rows_max) override;
    void close() override;

private:
    enum class State : std::uint8_t { Open, Ended, Closed };

    PostgresRows(PostgresConnection& connection, RowForm form, ResultPointer first);
    // Moves rows of the current result, up to rows_max.
    Result<void> take(Rows& rows, std::size_t rows_max);
    Result<void> advance();
    // The statement has ended; the connection may be used for others.
    void end();

    PostgresConnection& connection_;
    RowForm form_;
    ResultPointer result_;          // the current result; null when the statement has ended
    int row_ = 0;                   // the next row of result_
    std::optional<Error> failure_;  // an error that followed rows already returned
    State state_ = State::Open;
};

}  // namespace weft::data::postgres
