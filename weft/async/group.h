// Group: jobs that share a context. The first error cancels the context, and wait() returns that
// error when all jobs have ended.
//
//     Group group;                                       // below the ambient context
//     WEFT_TRY(group.go([&](Context& context) -> Result<void> { ... }));
//     WEFT_TRY(group.go([&](Context& context) -> Result<void> { ... }));
//     WEFT_TRY(group.wait());
//
// Jobs run on fibers of their own and may refer to what is declared before the group in the same
// frame: every way out of the block waits for all of them. wait() cannot be cancelled, but the end
// of the caller's context ends theirs. A group that is replaced or destroyed without a wait()
// cancels its jobs and waits for them; their errors are logged and counted.
//
// go() and errors(): any fiber, any thread. wait(): one fiber or thread, once. On a plain thread
// the parent must be a context of a runtime (Context::background(runtime)), as everywhere in async.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/first_error.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/job_count.h"
#include "weft/base/assert.h"
#include "weft/base/result.h"

namespace weft::async_internal {

class GroupCore final : public CancelState {
public:
    static GroupCore* create(const Context& parent, std::size_t errors_max) {
        return make<GroupCore>(parent_of_core(parent), errors_max);
    }

    static constexpr FiberLabel kLabel{"group job"};
    template <class Function>
    Result<void> go(std::string_view name, Function&& function) {
        if (!jobs_.add()) return async::kGroupGoAfterWait();
        UnlessStarted unless_started([this] { jobs_.done(); });
        WEFT_TRY(start_job(*this, std::forward<Function>(function), name));
        unless_started.started();
        return {};
    }
    Result<void> wait();
    void end();
    std::vector<Error> errors() const { return errors_.collected(); }

    // For JobBody.
    template <class Function>
    Result<void> call(Function& function) {
        Context context{CancelToken(this)};
        return call_without_value(function, context);
    }
    void finish(Result<void> outcome) {
        if (!outcome) [[unlikely]]
            fail(outcome.error());
        jobs_.done();
    }

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<GroupCore>};

    GroupCore(CancelState* parent, std::size_t errors_max)
        : CancelState(parent, Deadline::never(), &kNodeType), errors_(errors_max) {}
    ~GroupCore() { WEFT_ASSERT(!jobs_.has_jobs(), "a group ends after its jobs"); }
    void fail(const Error& error);

    JobCount jobs_;
    FirstError errors_;
};

}  // namespace weft::async_internal

namespace weft::async {

struct GroupOptions {
    bool collect_errors = false;
    int max_errors = 0;  // how many errors() keeps; positive if they are collected
};

class Group {
public:
    explicit Group(const Context& parent = Context::current())
        : Group(async_internal::GroupCore::create(parent, 0)) {}
    static Result<Group> create(const Context& parent, GroupOptions options);
    // Starts a job, unless wait() has begun. The value that it returns is dropped. Dumps show its
    // fiber under the name.
    template <async_internal::JobFunction Function>
    Result<void> go(std::string_view name, Function&& function) {
        if (async_internal::is_nil(function)) return kNilJob();
        return core_->go(name, std::forward<Function>(function));
    }
    template <async_internal::JobFunction Function>
    Result<void> go(Function&& function) {
        return go({}, std::forward<Function>(function));
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> go(Function&&) {
        std::unreachable();
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> go(std::string_view, Function&&) {
        std::unreachable();
    }
    // Waits for every job, ends the context and gives the first error.
    Result<void> wait() { return core_->wait(); }

    // The errors so far, if they are collected.
    std::vector<Error> errors() const { return core_->errors(); }
    // The context of the jobs.
    Context context() const { return Context(CancelToken(&*core_)); }

private:
    using Core = async_internal::GroupCore;
    explicit Group(Core* core) : core_(async_internal::CoreRef<Core>(core)) {}

    async_internal::OwnerRef<Core> core_;
};

}  // namespace weft::async
