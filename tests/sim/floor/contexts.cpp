#include "tests/sim/floor/contexts.h"

#include <optional>

#include "tests/sim/floor/jobs.h"
#include "weft/async/context.h"

namespace weft::sim::scenarios {
namespace {

using async::ContextKey;
using async::OwnedContext;

constexpr ContextKey<int> kLevel;

// A chain of contexts, and what must be true of its end.
struct Chain {
    explicit Chain(const Context& root) : context(root), deadline(root.deadline()) {
        for (int depth = between(1, 4); depth > 0; --depth) {
            if (coin()) {
                level = depth;
                context = context.with_value(kLevel, depth);
            } else {
                Deadline own = coin() ? Deadline::after(up_to_us(100)) : Deadline::never();
                deadline = earlier(deadline, own);
                context = context.with_deadline(own).context;
            }
        }
    }
    void check() const {
        require(context.deadline() == deadline, "not the earliest deadline");
        const int* found = context.value(kLevel);
        require(found ? *found == level : level == 0, "not the nearest value");
    }

    Context context;
    Deadline deadline;
    int level = 0;
};

// Why it ended: one reason, a true one, for ever.
void require_ended(const Chain& chain, bool cancelled) {
    CancelReason reason = chain.context.reason();
    require(reason != CancelReason::None, "a wait ended and its context did not");
    if (reason == CancelReason::DeadlineExceeded)
        require(chain.deadline.expired(Clock::now()), "a context ended before its deadline");
    else
        require(cancelled, "a context was cancelled by nobody");
    Result<void> error = chain.context.check();
    require(!error && is_end_of_context(error.error()), "a context ended with an odd error");
}

}  // namespace

// A context ends by the earliest deadline above it or by a cancel above it, whichever is first.
void context_tree() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext root = Context::background(runtime).with_cancel();
    bool cancelled = false;
    Crew crew(runtime);
    for (int i = between(1, 4); i > 0; --i) {
        crew.add([&] {
            Chain chain(root.context);
            chain.check();
            CancelScope scope(chain.context.token());
            Result<void> slept = sleep_for(up_to_us(200));
            if (slept) return;
            require_ended(chain, cancelled);
            CancelReason first = chain.context.reason();
            cancelled = true;
            root.source.cancel(CancelReason::Shutdown);
            require(chain.context.reason() == first, "another reason has taken its place");
        });
    }
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(200)));
        cancelled = true;
        root.source.cancel();
    });
}

// Contexts are derived, waited in and forgotten while the one above all of them is cancelled.
void context_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext root = Context::background(runtime).with_cancel();
    bool cancelled = false;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        cancelled = true;
        root.source.cancel();
        require(!root.context.check(), "a cancelled context goes on");
    });
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            for (int round = between(1, 3); round > 0; --round) {
                Chain chain(root.context);
                bool ended = root.context.is_done();
                require(!ended || chain.context.is_done(), "the end of a parent is not seen below");
                CancelScope scope(chain.context.token());
                Result<void> slept = coin() ? sleep_for(up_to_us(50)) : checkpoint();
                if (!slept) require_ended(chain, cancelled);
                if (coin()) continue;
                static_cast<void>(wait_for_end(chain.context));
                require_ended(chain, cancelled);
            }
        });
    }
}

}  // namespace weft::sim::scenarios
