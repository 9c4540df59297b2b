#include <array>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/odbc/internal/session.h"

namespace weft::data::odbc {

Result<void> Session::step(TransactionStep step, unsigned depth,
                           const TransactionOptions& options) {
    if (is_broken_) return data::to_error(kName, "08003", "the connection was lost");
    switch (step) {
    case TransactionStep::Begin: return begin(options);
    case TransactionStep::Commit: return end(true);
    case TransactionStep::Rollback: return end(false);
    default: break;
    }
    WEFT_DASSERT(depth > 0, "savepoints count from 1");
    std::string text = savepoint_text(facts_.dialect, step, depth);
    if (text.empty()) return {};
    Result<void> told = execute_own(text);
    if (told && step == TransactionStep::RollbackToSavepoint) transaction_failed_ = false;
    if (!told) note_failure(told.error());
    return told;
}

Result<void> Session::begin(const TransactionOptions& options) {
    if (!facts_.has_transactions)
        return data::to_error(kName, kUnsupportedState, "the driver has no transactions");
    bool can_read_only = !reads_only_text(facts_.dialect).empty();
    if (options.read_only && !can_read_only)
        return data::to_error(kName, kUnsupportedState, "no transactions that only read");
    WEFT_TRY(set_isolation(options.isolation));
    if (Result<void> manual = set_autocommit(false); !manual) {
        // The next user of the connection gets it as it was.
        if (!set_autocommit(true)) is_broken_ = true;
        restore_isolation();
        return manual;
    }
    in_transaction_ = true;
    transaction_failed_ = false;
    transaction_reads_ = options.read_only && access_ != Access::Read;
    Result<void> begun;
    for (const std::string& text : begin_texts(facts_.dialect, options.read_only)) {
        if (begun) begun = execute_own(text);
    }
    if (begun) return {};
    note_failure(begun.error());
    if (!is_broken_) static_cast<void>(end(false));
    return begun;
}

Result<void> Session::end(bool commit) {
    SQLRETURN code = SQLEndTran(SQL_HANDLE_DBC, link_.get(), commit ? SQL_COMMIT : SQL_ROLLBACK);
    Result<void> ended;
    if (!SQL_SUCCEEDED(code)) {
        ended = link_error(Phase::WithValues);
        // A failed commit may have left the transaction open.
        SQLRETURN undone = SQLEndTran(SQL_HANDLE_DBC, link_.get(), SQL_ROLLBACK);
        if (!SQL_SUCCEEDED(undone)) is_broken_ = true;
        if (is_connection_lost(ended.error())) is_broken_ = true;
    }
    in_transaction_ = false;
    transaction_failed_ = false;
    if (is_broken_) return ended;
    Result<void> usual = set_autocommit(true);
    if (std::string_view text = end_text(facts_.dialect, transaction_reads_);
        usual && !text.empty())
        usual = execute_own(text);
    if (usual) restore_isolation();
    if (!usual) is_broken_ = true;
    return ended;
}

void Session::restore_isolation() {
    if (!isolation_before_) return;
    if (!set_attribute(SQL_ATTR_TXN_ISOLATION, *isolation_before_)) is_broken_ = true;
    isolation_before_.reset();
}

// Set always, without regard to the value before: only the result counts.
Result<void> Session::set_autocommit(bool on) {
    SQLULEN wanted = on ? SQL_AUTOCOMMIT_ON : SQL_AUTOCOMMIT_OFF;
    if (set_attribute(SQL_ATTR_AUTOCOMMIT, wanted)) return {};
    return data::to_error(kName, kUnsupportedState, "the driver does not switch autocommit");
}

// Sets the weakest isolation of the driver that is strong enough.
Result<void> Session::set_isolation(Isolation isolation) {
    if (isolation == Isolation::Default) return {};
    constexpr std::array<std::pair<Isolation, SQLULEN>, 3> kLevels{{
        {Isolation::ReadCommitted, SQL_TXN_READ_COMMITTED},
        {Isolation::RepeatableRead, SQL_TXN_REPEATABLE_READ},
        {Isolation::Serializable, SQL_TXN_SERIALIZABLE},
    }};
    SQLUINTEGER known = 0;
    SQLGetInfoW(link_.get(), SQL_TXN_ISOLATION_OPTION, &known, sizeof(known), nullptr);
    SQLULEN before = attribute_of(SQL_ATTR_TXN_ISOLATION, 0);
    for (auto [level, number] : kLevels) {
        if (level < isolation || (known & number) == 0) continue;
        if (before == number) return {};
        if (!set_attribute(SQL_ATTR_TXN_ISOLATION, number)) continue;
        if (before != 0) isolation_before_ = before;
        return {};
    }
    return data::to_error(kName, kUnsupportedState, "the driver has no such isolation");
}

}  // namespace weft::data::odbc
