// The time of one call of a driver that may block, in which it can be cancelled.
#pragma once

#include <mutex>

#include "weft/data/odbc/internal/session.h"

namespace weft::data::odbc {

class Session::Call {
public:
    Call(Session& session, const StatementHandle& handle) : session_(session) {
        std::lock_guard guard(session_.stop_mutex_);
        is_stopped_ = session_.number_ != 0 && session_.stopped_ == session_.number_;
        if (!is_stopped_) session_.waiting_ = handle.get();
    }
    ~Call() {
        // Waits for a cancel that is under way: it must not be of a statement that has ended.
        std::lock_guard guard(session_.stop_mutex_);
        session_.waiting_ = nullptr;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Cancelled: the work is to stop, and the call is not to be made.
    Result<void> check() const {
        if (is_stopped_) return ErrorKind::Cancelled;
        return {};
    }

private:
    Session& session_;
    bool is_stopped_ = false;
};

}  // namespace weft::data::odbc
