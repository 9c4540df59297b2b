#include <algorithm>
#include <mutex>

#include "weft/base/assert.h"
#include "weft/data/odbc/internal/dialect.h"
#include "weft/data/odbc/internal/session.h"
#include "weft/data/odbc/internal/wide.h"

namespace weft::data::odbc {

bool Session::is_under_way(std::uint64_t number) {
    WEFT_ASSERT(number != 0, "zero is the number of no work");
    std::lock_guard guard(cancel_mutex_);
    cancelled_ = number;
    return number_ == number && waiting_;
}

void Session::cancel(std::uint64_t number) {
    if (!is_under_way(number)) return;
    Session helper(options_, access_);
    bool kills = !session_number_text(facts_.dialect).empty();
    if (kills && !helper.open_link()) return;
    // Held during the cancel, so that the work cannot continue with another statement meanwhile.
    std::lock_guard guard(cancel_mutex_);
    if (number_ != number || !waiting_) return;
    cancel_sent_ = true;
    if (kills) {
        helper.execute_quietly(kill_text(session_number_));
    } else {
        SQLCancel(waiting_);
    }
}

void Session::execute_quietly(const std::string& text) {
    StatementHandle handle;
    if (!handle.allocate(link_.get())) return;
    Wide wide = to_wide(text);
    SQLExecDirectW(handle.get(), wide.data(), static_cast<SQLINTEGER>(wide.size()));
}

}  // namespace weft::data::odbc
