#include "weft/http/client/internal/phase.h"

#include "weft/base/format.h"
#include "weft/fiber/cancel.h"

namespace weft::http {

Error in_phase(const Error& error, std::string_view phase, Deadline total) {
    if (error.kind() != ErrorKind::TimedOut || !CancelToken::current().check()) return error;
    bool whole = total.expired(Clock::now());
    return Error(ErrorKind::TimedOut, whole ? format("the time for the request ran out: {}", phase)
                                            : format("timed out: {}", phase));
}

}  // namespace weft::http
