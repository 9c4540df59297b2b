// RecurringScope: a scope that is used again and again, for what follows each other in one place:
// the requests of a connection.
//
//     RecurringScope scope(parent);
//     CancelScope ambient(scope.token());
//     while (read(request)) {
//         answer(request);
//         scope.end_round();
//     }
//
// What is spawned or deferred in a round ends with it: end_round() cancels it, waits for it and
// runs the cleanups in reverse order. The scope's own context goes on. A round in which there was
// nothing of the kind costs one load.
//
// end_round(): the fiber or thread that owns it, when nothing of the round but what belongs to the
// scope is under way. The rest: any.
#pragma once

#include "weft/async/internal/job.h"
#include "weft/async/internal/scope_core.h"
#include "weft/fiber/cancel.h"

namespace weft::async {

class RecurringScope {
public:
    explicit RecurringScope(CancelState* parent)
        : core_(async_internal::ScopeCore::create_recurring(parent)) {}
    ~RecurringScope() { core_->retire(); }
    RecurringScope(const RecurringScope&) = delete;
    RecurringScope& operator=(const RecurringScope&) = delete;

    CancelState* state() const { return &*core_; }
    CancelToken token() const { return CancelToken(state()); }

    // Whether the round has anything that end_round() would end.
    bool has_round() const { return core_->is_touched(); }
    void end_round() {
        if (has_round()) core_->end_round();
    }

private:
    async_internal::CoreRef<async_internal::ScopeCore> core_;
};

}  // namespace weft::async
