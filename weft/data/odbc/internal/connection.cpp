#include "weft/data/odbc/internal/connection.h"

#include <utility>

#include "weft/fiber/cancel.h"

namespace weft::data::odbc {

class OdbcRows final : public RowSource {
public:
    OdbcRows(OdbcConnection& connection, Columns columns)
        : connection_(connection), columns_(std::move(columns)) {}
    ~OdbcRows() override { close(); }

    const Columns& columns() const override { return columns_; }

    Result<Rows> fetch(std::size_t rows_max) override {
        if (ended_) return Rows(columns_);
        auto rows = connection_.executor_.run<Rows>(
            [rows_max](Session& session) { return session.fetch(rows_max); });
        if (!rows || rows->empty()) close();
        return rows;
    }

    void close() override {
        if (std::exchange(ended_, true) || connection_.executor_.is_lost()) return;
        Result<void> closed = shield(Deadline::after(kTidyTimeout), [&] {
            return connection_.executor_.run<void>([](Session& session) -> Result<void> {
                session.close_rows();
                return {};
            });
        });
        // No thread was free in time, so the cursor is still open in the driver.
        if (!closed) connection_.executor_.give_up();
    }

private:
    OdbcConnection& connection_;
    Columns columns_;
    bool ended_ = false;
};

Result<std::unique_ptr<Connection>> OdbcConnection::open(
    const OdbcOptions& options, Access access, std::shared_ptr<CancelThread> cancel_thread) {
    auto connection = std::make_unique<OdbcConnection>(std::make_shared<Session>(options, access),
                                                       std::move(cancel_thread));
    WEFT_TRY(connection->executor_.connect(Deadline::after(options.login_timeout)));
    return std::unique_ptr<Connection>(std::move(connection));
}

Result<Outcome> OdbcConnection::run(const Statement& statement, RowLimit limit) {
    return executor_.run<Outcome>(
        [statement, limit](Session& session) { return session.run(statement, limit); });
}

Result<std::vector<Outcome>> OdbcConnection::run_all(std::span<const Statement> statements,
                                                     RowLimit limit, bool atomic) {
    std::vector<Statement> own(statements.begin(), statements.end());
    return executor_.run<std::vector<Outcome>>(
        [own = std::move(own), limit, atomic](Session& session) {
            return session.run_all(own, limit, atomic);
        });
}

Result<void> OdbcConnection::run_script(const std::string& text) {
    return executor_.run<void>([text](Session& session) { return session.run_script(text); });
}

Result<std::unique_ptr<RowSource>> OdbcConnection::open_rows(const Statement& statement) {
    Columns columns = WEFT_TRY(executor_.run<Columns>(
        [statement](Session& session) { return session.open_rows(statement); }));
    return std::make_unique<OdbcRows>(*this, std::move(columns));
}

Result<void> OdbcConnection::step(TransactionStep step, unsigned depth,
                                  const TransactionOptions& options) {
    // Without the token of the options: it is the caller's, and is the ambient token already.
    TransactionOptions own{.isolation = options.isolation, .read_only = options.read_only};
    return executor_.run<void>(
        [step, depth, own](Session& session) { return session.step(step, depth, own); });
}

ConnectionState OdbcConnection::state() const {
    return executor_.is_lost() ? ConnectionState::Broken : executor_.session().state();
}

Result<void> OdbcConnection::validate() {
    return executor_.run<void>([](Session& session) { return session.validate(); });
}

Result<void> OdbcConnection::reset() {
    if (!executor_.is_lost() && !executor_.session().is_dirty()) return {};
    return executor_.run<void>([](Session& session) { return session.reset(); });
}

}  // namespace weft::data::odbc
