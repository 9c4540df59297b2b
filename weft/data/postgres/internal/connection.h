// PostgresConnection: a connection to PostgreSQL, as provider.h requires. One fiber at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/postgres/internal/session.h"
#include "weft/data/provider.h"

namespace weft::data::postgres {

class PostgresConnection final : public Connection {
public:
    explicit PostgresConnection(Session session) : session_(std::move(session)) {}

    Result<Outcome> run(const Statement& statement, RowLimit limit) override;
    Result<std::vector<Outcome>> run_all(std::span<const Statement> statements, RowLimit limit,
                                         bool atomic) override;
    Result<void> run_script(const std::string& text) override;
    Result<std::unique_ptr<RowSource>> open_rows(const Statement& statement) override;
    Result<void> step(TransactionStep step, unsigned depth,
                      const TransactionOptions& options) override;
    ConnectionState state() const override;
    bool is_lost() override { return session_.link().is_lost(); }
    Result<void> validate() override;
    Result<void> reset() override;

    // For cursors and copies.
    Session& session() { return session_; }
    // Sends a statement and waits for its first result. Sends it once more if the server has
    // forgotten its preparation.
    Result<std::pair<RowForm, ResultPointer>> start(const Statement& statement);
    // Inside a transaction, sets a savepoint so that the next statement can be stopped without
    // failing the transaction.
    Result<void> set_savepoint();
    // Stops the statement under way. The transaction around it continues if it has the savepoint.
    void stop();
    // Called after each exchange; tidies up what an error has left under way.
    void end_exchange();

private:
    Result<Outcome> run_once(const Statement& statement, RowLimit limit, bool& stopped);
    // Plain: the sync commits, unless inside a transaction. ReadOnly: begin and commit of a
    // read-only transaction are sent in the same round trip. ToCommit: a second round trip commits.
    enum class BatchForm : std::uint8_t { Plain, ReadOnly, ToCommit };

    BatchForm form_of(std::span<const Statement* const> different);
    Result<std::vector<Outcome>> run_pipelined(std::span<const Statement> statements,
                                               RowLimit limit, BatchForm form);
    Result<std::vector<Outcome>> send_all(std::span<const Statement> statements, RowLimit limit,
                                          BatchForm form);
    Result<std::vector<Outcome>> collect_all(std::span<const Statement> statements,
                                             std::vector<RowForm> forms, RowLimit limit);
    static bool repeats(const Statement& statement, const Statement& before);
    static std::vector<const Statement*> different(std::span<const Statement> statements);
    bool can_pipeline(std::span<const Statement* const> different) const;

    Session session_;
    bool has_savepoint_ = false;  // the savepoint of set_savepoint() exists
};

}  // namespace weft::data::postgres
