// Call: encloses one driver call that may block, so that it can be cancelled. On the thread of the
// work.
#pragma once

#include <mutex>

#include "weft/base/assert.h"
#include "weft/data/odbc/internal/session.h"

namespace weft::data::odbc {

class Session::Call {
public:
    Call(Session& session, const StatementHandle& handle) : session_(session) {
        std::lock_guard guard(session_.cancel_mutex_);
        WEFT_ASSERT(!session_.waiting_, "one driver call at a time");
        WEFT_ASSERT(handle, "a call is that of a statement");
        WEFT_ASSERT(session_.number_ != 0, "a driver call is a part of work");
        is_cancelled_ = session_.cancelled_ == session_.number_;
        if (!is_cancelled_) session_.waiting_ = handle.get();
    }
    ~Call() {
        // The lock waits for a cancel under way, which must not hit a statement that has ended.
        std::lock_guard guard(session_.cancel_mutex_);
        session_.waiting_ = nullptr;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Cancelled if the work is to stop; the driver call must then not be made.
    Result<void> check() const {
        if (is_cancelled_) return ErrorKind::Cancelled;
        return {};
    }

private:
    Session& session_;
    bool is_cancelled_ = false;
};

}  // namespace weft::data::odbc
