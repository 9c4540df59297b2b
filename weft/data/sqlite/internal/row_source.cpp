#include <algorithm>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/sqlite/internal/connection.h"
#include "weft/data/sqlite/internal/errors.h"
#include "weft/data/sqlite/internal/values.h"

namespace weft::data::sqlite_internal {

class SqliteRows final : public RowSource {
public:
    // The statement has made its first step: it stands on a row or has ended.
    SqliteRows(SqliteConnection& connection, Prepared prepared, bool has_row)
        : connection_(connection),
          prepared_(std::move(prepared)),
          reader_(prepared_->get()),
          columns_(reader_.empty().shared_columns()),
          unread_(has_row),
          ended_(!has_row) {}
    ~SqliteRows() override { close(); }

    const Columns& columns() const override { return columns_; }

    Result<Rows> fetch(std::size_t rows_max) override {
        if (!prepared_) return Rows(columns());
        return connection_.executor_.run<Rows>([&] {
            connection_.begin_work();
            Result<Rows> rows = fetch_here(rows_max);
            connection_.end_work();
            return rows;
        });
    }

    void close() override {
        if (!prepared_) return;
        shield(Deadline::never(), [&] {
            static_cast<void>(connection_.executor_.run<void>([&]() -> Result<void> {
                prepared_.reset();
                connection_.note_state();
                return {};
            }));
        });
    }

private:
    Result<Rows> fetch_here(std::size_t rows_max) {
        WEFT_DASSERT(rows_max > 0, "an empty batch would mean the end");
        WEFT_ASSERT(!unread_ || !ended_, "a statement that has ended stands on no row");
        Rows rows(columns());
        // A result that has filled a batch probably fills the next one.
        if (is_long_) rows.reserve(std::min<std::size_t>(rows_max, kCursorBatchRowsMax));
        while (!ended_ && rows.size() < rows_max) {
            if (!std::exchange(unread_, false))
                ended_ = !WEFT_TRY(connection_.step_row(prepared_->get()));
            if (!ended_) WEFT_TRY(reader_.read(rows));
        }
        WEFT_ASSERT(rows.size() <= rows_max, "a batch is bounded");
        is_long_ = rows.size() == rows_max;
        return rows;
    }

    SqliteConnection& connection_;
    std::optional<Prepared> prepared_;
    Reader reader_;
    const Columns columns_;
    bool unread_;  // the statement stands on a row that was not returned yet
    bool ended_;
    bool is_long_ = false;  // the batch before was full
};

Result<std::unique_ptr<RowSource>> SqliteConnection::open_rows(const Statement& statement) {
    using Source = std::unique_ptr<RowSource>;
    return executor_.run<Source>([&]() -> Result<Source> {
        begin_work();
        Result<Source> rows = open_rows_here(statement);
        end_work();
        return rows;
    });
}

Result<std::unique_ptr<RowSource>> SqliteConnection::open_rows_here(const Statement& statement) {
    Prepared prepared = WEFT_TRY(prepare(statement));
    // Copied: the rows are read after the caller's values may be gone.
    WEFT_TRY(bind_all(prepared.get(), statement, Binding::Copied));
    bool has_row = WEFT_TRY(step_row(prepared.get()));
    return std::make_unique<SqliteRows>(*this, std::move(prepared), has_row);
}

}  // namespace weft::data::sqlite_internal
