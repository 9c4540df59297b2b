#include "weft/http/client/internal/phase.h"

#include "weft/base/format.h"
#include "weft/fiber/cancel.h"

namespace weft::http {
namespace {

Error ran_out(Nanoseconds time, std::string_view limit) {
    return Error(ErrorKind::TimedOut,
                 format("timed out after {} ms ({})", time / std::chrono::milliseconds(1), limit));
}

}  // namespace

Error in_phase(const Error& error, const Phase& phase, const WholeTime& whole) {
    if (error.kind() != ErrorKind::TimedOut) return error.with_context(phase.doing);
    // The text of the original error is dropped: it would say a second time that a limit was
    // exceeded.
    Error cause = ErrorKind::TimedOut;
    if (CancelToken::current().check()) {
        if (whole.deadline.expired(Clock::now())) {
            cause = ran_out(whole.time, "ClientTimeouts::total");
        } else if (!phase.limit.empty()) {
            cause = ran_out(phase.time, phase.limit);
        }
    }
    return cause.with_context(phase.doing);
}

Error in_named_phase(const Error& error, const Phase& phase, const WholeTime& whole) {
    return error.kind() == ErrorKind::TimedOut ? in_phase(error, phase, whole) : error;
}

}  // namespace weft::http
