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

#include <cstdint>

#include "weft/async/context.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/scope_core.h"
#include "weft/fiber/cancel.h"

namespace weft::async {

class RecurringScope {
public:
    explicit RecurringScope(CancelState* parent)
        : core_(async_internal::ScopeCore::create_recurring(parent)), context_(token()) {}
    ~RecurringScope() { core_->retire(); }
    RecurringScope(const RecurringScope&) = delete;
    RecurringScope& operator=(const RecurringScope&) = delete;

    CancelState* state() const { return &*core_; }
    CancelToken token() const { return CancelToken(state()); }
    // To be lent for a round: a copy of its own for each would be counted. Whoever it was lent to
    // may have put another one in its place.
    Context& lend_context() {
        if (context_.token().state() != state()) context_ = Context(token());
        return context_;
    }
    // Nobody else holds the scope's context.
    bool is_ours_alone() const {
        std::uint32_t own = context_.token().state() == state() ? 2 : 1;
        return !state()->is_held_besides(own);
    }

    // Until stop_telling() `tell` is called with `whom` when somebody could first notice that the
    // context ends: see CancelState::expect_asking(). False if somebody could already.
    bool tell_when_asked(void (*tell)(void* whom), void* whom) {
        core_->set_asked({tell, whom});
        return core_->is_unasked();
    }
    void stop_telling() { core_->set_asked({}); }
    // Nobody but its owner has the context now, and nobody has asked since the owner took it.
    void expect_asking() { core_->expect_asking(); }

    // Whether the round has anything that end_round() would end.
    bool has_round() const { return core_->is_touched(); }
    void end_round() {
        if (has_round()) core_->end_round();
    }

private:
    async_internal::CoreRef<async_internal::ScopeCore> core_;
    Context context_;
};

}  // namespace weft::async
