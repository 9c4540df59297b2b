// A connection to PostgreSQL, as the contract of providers has it.
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
    // Sends a statement that is sent again if the server has forgotten its preparation, and waits
    // for its first result.
    Result<std::pair<RowForm, ResultPointer>> start(const Statement& statement);
    // In a transaction a statement can be given up only back to a savepoint.
    Result<void> mark();
    // Ends a statement before its end; the transaction around it goes on.
    void stop();
    // After each exchange: tidies up what an error has left.
    void end_exchange();

private:
    Result<Outcome> run_once(const Statement& statement, RowLimit limit, bool& stopped);
    // Plain: the sync commits, if no transaction is around it. ReadOnly: in a transaction of its
    // own that ends in the same round trip. ToCommit: in one that is committed by another.
    enum class BatchForm : std::uint8_t { Plain, ReadOnly, ToCommit };

    BatchForm form_of(std::span<const Statement> statements);
    Result<std::vector<Outcome>> run_pipelined(std::span<const Statement> statements,
                                               RowLimit limit, BatchForm form);
    Result<std::vector<Outcome>> send_all(std::span<const Statement> statements, RowLimit limit,
                                          BatchForm form);
    Result<std::vector<Outcome>> collect_all(std::span<const Statement> statements,
                                             std::vector<RowForm> forms, RowLimit limit);
    bool can_pipeline(std::span<const Statement> statements) const;

    Session session_;
    bool marked_ = false;  // the savepoint is there
};

}  // namespace weft::data::postgres
