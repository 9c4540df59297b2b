#include "weft/data/provider.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/fiber/cancel.h"

namespace weft::data {

std::string transaction_text(TransactionStep step, unsigned depth) {
    WEFT_DASSERT(depth > 0 || step == TransactionStep::Begin || step == TransactionStep::Commit ||
                     step == TransactionStep::Rollback,
                 "savepoints count from 1");
    std::string name = "weft_" + std::to_string(depth);
    switch (step) {
    case TransactionStep::Begin: return "begin";
    case TransactionStep::Commit: return "commit";
    case TransactionStep::Rollback: return "rollback";
    case TransactionStep::Savepoint: return "savepoint " + name;
    case TransactionStep::ReleaseSavepoint: return "release savepoint " + name;
    case TransactionStep::RollbackToSavepoint: return "rollback to savepoint " + name;
    }
    return {};
}

Error row_limit_error(std::string_view provider, std::uint32_t rows_max) {
    return to_error(provider, kRowLimitState,
                    "the result has more than " + std::to_string(rows_max) +
                        " rows (rows_max); ask for more, or use a cursor");
}

Result<void> check_text(std::string_view provider, std::string_view text) {
    if (text.find('\0') == std::string_view::npos) return {};
    return Error(ErrorKind::Misuse, std::string(provider) + ": a statement has a NUL");
}

namespace {

Result<std::vector<Outcome>> run_each(Connection& connection, std::span<const Statement> statements,
                                      RowLimit limit) {
    std::vector<Outcome> outcomes;
    outcomes.reserve(statements.size());
    for (const Statement& statement : statements) {
        Result<Outcome> outcome = connection.run(statement, limit);
        if (!outcome)
            return outcome.error().with_context("statement", std::to_string(outcomes.size() + 1));
        outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
}

}  // namespace

Result<std::vector<Outcome>> Connection::run_all(std::span<const Statement> statements,
                                                 RowLimit limit, bool atomic) {
    if (!atomic) return run_each(*this, statements, limit);
    WEFT_TRY(step(TransactionStep::Begin, 0, {}));
    Result<std::vector<Outcome>> outcomes = run_each(*this, statements, limit);
    Result<void> ended = shield(Deadline::after(kTidyTimeout), [&] {
        return step(outcomes ? TransactionStep::Commit : TransactionStep::Rollback, 0, {});
    });
    if (outcomes && !ended) return ended.error();
    return outcomes;
}

}  // namespace weft::data
