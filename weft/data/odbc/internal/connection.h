// OdbcConnection: an ODBC connection as provider.h requires (odbc.h). One fiber at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/odbc/internal/executor.h"
#include "weft/data/odbc/odbc.h"
#include "weft/data/provider.h"

namespace weft::data::odbc {

class OdbcConnection final : public Connection {
public:
    static Result<std::unique_ptr<Connection>> open(const OdbcOptions& options, Access access,
                                                    std::shared_ptr<CancelThread> cancel_thread);
    OdbcConnection(std::shared_ptr<Session> session, std::shared_ptr<CancelThread> cancel_thread)
        : executor_(std::move(session), std::move(cancel_thread)) {}

    Result<Outcome> run(const Statement& statement, RowLimit limit) override;
    Result<std::vector<Outcome>> run_all(std::span<const Statement> statements, RowLimit limit,
                                         bool atomic) override;
    Result<void> run_script(const std::string& text) override;
    Result<std::unique_ptr<RowSource>> open_rows(const Statement& statement) override;
    Result<void> step(TransactionStep step, unsigned depth,
                      const TransactionOptions& options) override;
    ConnectionState state() const override;
    Result<void> validate() override;
    Result<void> reset() override;

    const OdbcFacts& facts() const { return executor_.session().facts(); }

private:
    friend class OdbcRows;

    Executor executor_;
};

}  // namespace weft::data::odbc
