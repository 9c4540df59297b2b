// The errors of this folder, each with its kind and its text. The texts do not change: programs
// ported from V's x.async compare them.
#pragma once

#include <string_view>

#include "weft/base/error.h"

namespace weft::async {

// A call makes the error: `return kPoolClosed();`.
struct Fault {
    ErrorKind kind;
    std::string_view text;
    Error operator()() const { return Error(kind, text); }
};

inline constexpr Fault kNilJob{ErrorKind::Misuse, "async: job function is nil"};
inline constexpr Fault kTimeout{ErrorKind::TimedOut, "async: timeout"};

inline constexpr Fault kGroupGoAfterWait{
    ErrorKind::Misuse, "async: group does not accept new tasks after wait starts"};
inline constexpr Fault kGroupMaxErrors{ErrorKind::Misuse,
                                       "async: group max_errors must be positive"};
inline constexpr Fault kGroupWaited{ErrorKind::Misuse, "async: group wait was already called"};

inline constexpr Fault kTaskWaited{ErrorKind::Misuse, "async: task wait was already called"};

inline constexpr Fault kPoolWorkers{ErrorKind::Misuse, "async: pool worker count must be positive"};
inline constexpr Fault kPoolQueueSize{ErrorKind::Misuse, "async: pool queue size must be positive"};
inline constexpr Fault kPoolClosed{ErrorKind::Closed, "async: pool is closed"};
inline constexpr Fault kPoolFull{ErrorKind::Limit, "async: pool queue is full"};
inline constexpr Fault kPoolWaited{ErrorKind::Misuse, "async: pool wait was already called"};

inline constexpr Fault kInterval{ErrorKind::Misuse, "async: interval must be positive"};
inline constexpr Fault kPeriodicWaited{ErrorKind::Misuse,
                                       "async: periodic wait was already called"};

inline constexpr Fault kNoScope{ErrorKind::Misuse, "async: there is no scope around"};
inline constexpr Fault kScopeEnded{ErrorKind::Closed, "async: scope has ended"};
inline constexpr Fault kPendingWaited{ErrorKind::Misuse, "async: pending wait was already called"};

inline constexpr Fault kNoJobs{ErrorKind::Misuse, "async: there are no jobs"};
inline constexpr Fault kAttempts{ErrorKind::Misuse, "async: attempts must be positive"};
inline constexpr Fault kSupervisorRuns{ErrorKind::Misuse, "async: supervisor runs already"};

}  // namespace weft::async
