// RecurringScope: a scope that is reused for a sequence of rounds, such as the requests of a
// connection.
//
//     RecurringScope scope(parent);
//     CancelScope ambient(scope.token());
//     while (read(request)) {
//         answer(request);
//         scope.end_round();
//     }
//
// What is spawned or deferred in a round ends with it: end_round() cancels it, waits for it and
// runs the cleanups in reverse order. The scope's own context does not end. A round in which
// nothing was spawned or deferred costs one load.
//
// end_round() waits: it is called by the owning fiber or thread, when only what the scope waits for
// is left of the round. The other functions: the owner, also in a worker's loop. Any fiber or
// thread may spawn and defer below the scope's context.
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
    // The context object that a handler gets for a round: lending it saves the counting of a copy.
    // The handler may assign another context to it, so it is restored here.
    Context& lend_context() {
        if (context_.token().state() != state()) context_ = Context(token());
        return context_;
    }
    // Whether nobody else holds a reference to the scope's context.
    bool is_unshared() const {
        std::uint32_t own = context_.token().state() == state() ? 2 : 1;
        return !state()->is_held_besides(own);
    }

    // Until stop_notifying(), calls `notify(argument)` before other code first observes the state
    // of the context, and so could notice its end: see CancelState::expect_asking(). False if that
    // has happened already.
    bool notify_when_observed(void (*notify)(void* argument), void* argument) {
        core_->set_on_observed({notify, argument});
        return core_->is_unasked();
    }
    void stop_notifying() { core_->set_on_observed({}); }
    // Starts to watch for the first observer. Only while nobody but the owner holds the context.
    void expect_observer() { core_->expect_asking(); }

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
