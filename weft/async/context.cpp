#include "weft/async/context.h"

#include "weft/base/planted.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft::async {

Context Context::background() { return Context(CancelToken(fiber_internal::root_token())); }

Context Context::background(const Runtime& runtime) { return Context(runtime.root()); }

OwnedContext Context::with_cancel() const { return with_deadline(Deadline::never()); }

OwnedContext Context::with_deadline(Deadline deadline) const {
    CancelSource source(token_, deadline);
    Context context(source.token());
    return {std::move(context), std::move(source)};
}

CancelReason reason_of(CancelState* token) {
    for (CancelState* state = token; state; state = state->parent()) {
        if (CancelReason reason = state->reason(); reason != CancelReason::None) return reason;
        if (state->is_cut() || WEFT_PLANTED("context.sees_only_itself")) break;
    }
    return token && token->expire_if_due() ? token->reason() : CancelReason::None;
}

Result<void> Context::check() const {
    CancelReason ended = reason();
    if (ended == CancelReason::None) return {};
    return context_error(ended);
}

Error context_error(CancelReason reason) {
    bool timed_out = reason == CancelReason::DeadlineExceeded;
    return Error(timed_out ? ErrorKind::TimedOut : ErrorKind::Cancelled, to_string(reason));
}

}  // namespace weft::async
