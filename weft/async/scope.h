// Scope: owns the jobs, fibers, cleanups and memory of a section of the program.
//
//     auto answer = run_scope(ScopeKind::Request, [&](Scope& scope) -> Result<Response> {
//         auto& rows = scope.make<Rows>(...);             // in the scope's arena
//         scope.defer([&] { connection.give_back(); });   // runs when all jobs have ended
//         WEFT_TRY(scope.spawn("audit", [&] { ... }));    // cannot outlive the scope
//         ...
//     });
//
// run_scope() calls the function in the calling fiber or thread, with the scope's context ambient.
// When the function returns or throws, the scope ends: its context is cancelled, everything that
// was started in it is waited for, cleanups and destructors run in reverse order of their
// registration, and the arena is freed in one step. There is no other way to open or to end a
// scope, so each cleanup runs exactly once, in the owner's fiber, whether the function returned,
// the context was cancelled or the runtime shuts down. A cleanup that has to wait after a
// cancellation uses shield().
//
// The three kinds differ only at shutdown: request scopes are ended before worker scopes, and those
// before app scopes; children always before their parents.
//
// In every build it is asserted that each pending operation has had one outcome, and that no job is
// left after the scope. A fiber that is spawned in a scope by plain spawn() belongs to it, also
// when its Future is dropped; Future::detach() moves it to the runtime. A job that a with_timeout
// leaves running belongs to the innermost scope around that call.
//
// Any fiber or thread to which the function passes the Scope& may use it until the function
// returns; jobs of the scope may use it until they end.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/scope_core.h"
#include "weft/base/result.h"

namespace weft::async {

enum class ScopeKind : std::uint8_t { App, Worker, Request };

class Scope {
public:
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    Context context() const { return Context(CancelToken(&*core_)); }
    ScopeKind kind() const { return kind_; }

    // Starts a job on a fiber of its own, in the scope's context. If the function itself succeeds,
    // run_scope() returns the first error of a job that is not merely the end of that context; the
    // other errors are logged and counted.
    template <async_internal::JobFunction Function>
    Result<void> spawn(std::string_view name, Function&& function) {
        if (async_internal::is_nil(function)) return kNilJob();
        return core_->spawn(name, std::forward<Function>(function));
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> spawn(std::string_view, Function&&) {
        std::unreachable();
    }
    // Waits until all jobs and child scopes have ended by themselves. The wait cannot be cancelled;
    // the jobs can. Not in a job of the scope.
    void join() { core_->wait_idle(); }
    // Ends the context, so that the waits of all jobs end. Idempotent.
    void cancel() { core_->cancel(CancelReason::Cancelled); }

    // Calls `function` when the scope ends and all jobs have ended. It takes a Context& or nothing;
    // its error is logged and counted.
    template <async_internal::JobFunction Function>
    void defer(Function&& function) {
        using Stored = std::decay_t<Function>;
        async_internal::make_with_cleanup<Stored>(*core_, async_internal::call_deferred<Stored>,
                                                  std::forward<Function>(function));
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB void defer(Function&&) {
        std::unreachable();
    }
    // An object that lives as long as the scope.
    template <class T, class... Arguments>
    T& make(Arguments&&... arguments) {
        if constexpr (std::is_trivially_destructible_v<T>) {
            void* place = arena().allocate(sizeof(T), alignof(T));
            return *new (place) T(std::forward<Arguments>(arguments)...);
        } else {
            return async_internal::make_with_cleanup<T>(*core_, async_internal::destroy_object<T>,
                                                        std::forward<Arguments>(arguments)...)
                .object;
        }
    }
    Arena& arena() { return core_->arena(); }

private:
    template <class Function>
    friend auto run_scope(ScopeKind kind, const Context& parent, Function&& function)
        -> Result<typename fiber_internal::Unwrap<std::invoke_result_t<Function&, Scope&>>::Type>;
    template <class T>
    friend class Pending;

    Scope(ScopeKind kind, const Context& parent);
    Result<void> end() { return core_->end(); }

    async_internal::CoreRef<async_internal::ScopeCore> core_;
    const ScopeKind kind_;
};

// As Scope::defer() of the innermost scope around the caller; in a handler of the HTTP server that
// is the scope of the request.
template <async_internal::JobFunction Function>
Result<void> defer(Function&& function) {
    using Stored = std::decay_t<Function>;
    auto* core = async_internal::ScopeCore::around(current_cell().token);
    if (!core) return kNoScope();
    if (core->has_ended()) return kScopeEnded();
    async_internal::make_with_cleanup<Stored>(*core, async_internal::call_deferred<Stored>,
                                              std::forward<Function>(function));
    return {};
}

// Opens a scope below `parent`. If that context has ended, the function is not called.
template <class Function>
auto run_scope(ScopeKind kind, const Context& parent, Function&& function)
    -> Result<typename fiber_internal::Unwrap<std::invoke_result_t<Function&, Scope&>>::Type> {
    if (async_internal::is_nil(function)) return kNilJob();
    WEFT_TRY(parent.check());
    Scope scope(kind, parent);
    auto call = [&](Context&) -> decltype(auto) { return function(scope); };
    auto outcome = [&] {
        Context context = scope.context();
        CancelScope ambient(context.token());
        return async_internal::call_job(call, context);
    }();
    Result<void> jobs = scope.end();
    if (jobs) return outcome;
    if (outcome) return jobs.error();
    fiber_internal::dropped("a job of a scope that failed", jobs.error(), parent.token().state());
    return outcome;
}

// Opens a scope below the ambient context.
template <class Function>
auto run_scope(ScopeKind kind, Function&& function) {
    return run_scope(kind, Context::current(), std::forward<Function>(function));
}

}  // namespace weft::async
