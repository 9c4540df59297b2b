#include "weft/c/weft.h"

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/group.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"

using weft::CancelScope;
using weft::CancelSource;
using weft::Deadline;
using weft::Error;
using weft::ErrorKind;
using weft::Nanoseconds;
using weft::Result;
using weft::async::Context;
using weft::async::OwnedContext;

struct weft_runtime {
    explicit weft_runtime(const weft::RuntimeOptions& options) : runtime(options) {}
    weft::Runtime runtime;
};

struct weft_fiber {
    weft::Future<void> future;
};

struct weft_channel {
    explicit weft_channel(std::size_t capacity)
        : channel(capacity == WEFT_UNBOUNDED ? weft::Channel<void*>::unbounded()
                                             : weft::Channel<void*>(capacity)) {}
    weft::Channel<void*> channel;
};

struct weft_context {
    enum class Owner { Caller, Call };

    Context context;
    Owner owner = Owner::Caller;
    std::optional<CancelSource> source = {};  // only of contexts that may be cancelled
};

struct weft_group {
    weft::async::Group group;
};

namespace {

int status_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::Cancelled: return WEFT_CANCELLED;
    case ErrorKind::TimedOut: return WEFT_TIMED_OUT;
    case ErrorKind::Closed: return WEFT_CLOSED;
    case ErrorKind::Misuse: return WEFT_MISUSE;
    case ErrorKind::NoRuntime: return WEFT_NO_RUNTIME;
    case ErrorKind::OutOfMemory: return WEFT_OUT_OF_MEMORY;
    case ErrorKind::Limit: return WEFT_LIMIT;
    case ErrorKind::Exception: return WEFT_EXCEPTION;
    default: return WEFT_FAILED;
    }
}

template <class T>
int status_of(const Result<T>& result) {
    return result ? int{WEFT_OK} : status_of(result.error().kind());
}

// What an Error holds that stands for the number of a job, and no error of the runtime does: kinds
// and native codes do not tell the two apart.
struct JobReturned : std::runtime_error {
    explicit JobReturned(int its_number)
        : std::runtime_error("the job returned " + std::to_string(its_number)),
          number(its_number) {}

    int number;
};

Error job_error(int number) {
    return Error::from_exception(std::make_exception_ptr(JobReturned(number)));
}

// Nothing for an error of the runtime.
std::optional<int> number_of_job(const Error& error) {
    std::exception_ptr held = error.exception();
    if (!held) return std::nullopt;
    try {
        std::rethrow_exception(std::move(held));
    } catch (const JobReturned& returned) {
        return returned.number;
    } catch (...) {
        return std::nullopt;
    }
}

// Returns the status of the wait for a job, and stores in `outcome` what the job itself returned.
int split_outcome(const Result<void>& ended, int& outcome) {
    if (ended) {
        outcome = WEFT_OK;
    } else if (std::optional<int> number = number_of_job(ended.error())) {
        outcome = *number;
    } else {
        return status_of(ended);
    }
    return WEFT_OK;
}

// Calls the job, which may be written in C++ and throw.
int call(weft_job job, weft_context& context, void* argument) {
    try {
        return job(&context, argument);
    } catch (...) {
        return WEFT_EXCEPTION;
    }
}

Result<void> call_as_job(weft_job job, Context context, void* argument) {
    weft_context lent{std::move(context), weft_context::Owner::Call};
    int number = call(job, lent, argument);
    if (number == WEFT_OK) return {};
    return job_error(number);
}

// The body of a fiber.
Result<void> call_on_fiber(weft_job job, void* argument) {
    return call_as_job(job, Context::current(), argument);
}

// Runs the body of an exported function: an exception becomes a status.
template <class Body>
int guarded(Body&& body) {
    try {
        return std::forward<Body>(body)();
    } catch (const std::bad_alloc&) {
        return WEFT_OUT_OF_MEMORY;
    } catch (...) {
        return WEFT_EXCEPTION;
    }
}

// Stores a new handle, which the caller owns, in *place.
template <class Handle, class... Arguments>
int make_handle(Handle** place, Arguments&&... arguments) {
    *place = std::make_unique<Handle>(std::forward<Arguments>(arguments)...).release();
    return WEFT_OK;
}

// Destroys a handle that make_handle() made; null does nothing.
template <class Handle>
void destroy_handle(Handle* handle) {
    std::unique_ptr<Handle> owned(handle);
}

Context context_or_ambient(const weft_context* context) {
    return context ? context->context : Context::current();
}

Deadline deadline_after(int64_t timeout) {
    return timeout < 0 ? Deadline::never() : Deadline::after(Nanoseconds(timeout));
}

int derive(const weft_context* parent, Deadline deadline, weft_context** place) {
    OwnedContext derived = context_or_ambient(parent).with_deadline(deadline);
    return make_handle(place, std::move(derived.context), weft_context::Owner::Caller,
                       std::move(derived.source));
}

bool on_fiber() { return weft::current() != nullptr; }

}  // namespace

const char* weft_status_text(int status) noexcept {
    switch (status) {
    case WEFT_OK: return "ok";
    case WEFT_CANCELLED: return "cancelled";
    case WEFT_TIMED_OUT: return "timed out";
    case WEFT_CLOSED: return "closed";
    case WEFT_MISUSE: return "misuse";
    case WEFT_NO_RUNTIME: return "no runtime";
    case WEFT_OUT_OF_MEMORY: return "out of memory";
    case WEFT_LIMIT: return "limit reached";
    case WEFT_EXCEPTION: return "exception";
    case WEFT_FAILED: return "failed";
    default: return status > 0 ? "error of a job" : "unknown status";
    }
}

// ---------------------------------------------------------------- runtime

int weft_run(weft_job job, void* argument, int* outcome) noexcept {
    if (!job || !outcome || on_fiber()) return WEFT_MISUSE;
    return guarded([=] {
        return split_outcome(weft::run([=] { return call_on_fiber(job, argument); }), *outcome);
    });
}

int weft_runtime_new(unsigned workers, size_t stack_bytes, weft_runtime** runtime) noexcept {
    if (!runtime) return WEFT_MISUSE;
    *runtime = nullptr;
    if (on_fiber()) return WEFT_MISUSE;
    return guarded([=]() -> int {
        weft::RuntimeOptions options;
        if (workers != 0) options.workers = workers;
        if (stack_bytes != 0) options.stack_bytes = stack_bytes;
        auto made = std::make_unique<weft_runtime>(options);
        if (Result<void> started = made->runtime.start(); !started) return status_of(started);
        *runtime = made.release();
        return WEFT_OK;
    });
}

int weft_runtime_run(weft_runtime* runtime) noexcept {
    if (!runtime || on_fiber()) return WEFT_MISUSE;
    return guarded([=]() -> int {
        runtime->runtime.run();
        return WEFT_OK;
    });
}

int weft_runtime_shutdown(weft_runtime* runtime, int64_t timeout) noexcept {
    if (!runtime || on_fiber()) return WEFT_MISUSE;
    return guarded([=] { return status_of(runtime->runtime.shutdown(deadline_after(timeout))); });
}

int weft_runtime_free(weft_runtime* runtime) noexcept {
    if (on_fiber()) return WEFT_MISUSE;
    destroy_handle(runtime);
    return WEFT_OK;
}

// ---------------------------------------------------------------- fibers

int weft_spawn(weft_context* context, weft_job job, void* argument, weft_fiber** fiber) noexcept {
    if (fiber) *fiber = nullptr;
    if (!job) return WEFT_MISUSE;
    return guarded([=]() -> int {
        // The handle is allocated first, so that no fiber was started if there is no memory for it.
        auto handle = fiber ? std::make_unique<weft_fiber>() : nullptr;
        weft::SpawnOptions options;
        if (context) options.token = context->context.token().state();
        weft::Future<void> future =
            weft::spawn([=] { return call_on_fiber(job, argument); }, options);
        if (!future) return status_of(future.join());
        if (!fiber) return WEFT_OK;
        handle->future = std::move(future);
        *fiber = handle.release();
        return WEFT_OK;
    });
}

int weft_join(weft_fiber* fiber, int64_t timeout, int* outcome) noexcept {
    if (!fiber || !outcome) return WEFT_MISUSE;
    return guarded(
        [=] { return split_outcome(fiber->future.join(deadline_after(timeout)), *outcome); });
}

void weft_fiber_free(weft_fiber* fiber) noexcept { destroy_handle(fiber); }

void weft_yield(void) noexcept { weft::yield(); }

int weft_checkpoint(void) noexcept {
    return guarded([] { return status_of(weft::checkpoint()); });
}

int weft_sleep(int64_t duration) noexcept {
    return guarded([=] { return status_of(weft::sleep_until(deadline_after(duration))); });
}

int64_t weft_now(void) noexcept { return weft::Clock::now().time_since_epoch().count(); }

// ---------------------------------------------------------------- channels

int weft_channel_new(size_t capacity, weft_channel** channel) noexcept {
    if (!channel) return WEFT_MISUSE;
    *channel = nullptr;
    if (capacity != WEFT_UNBOUNDED && capacity > weft::kChannelItemsMax) return WEFT_LIMIT;
    return guarded([=] { return make_handle(channel, capacity); });
}

int weft_channel_send(weft_channel* channel, void* item, int64_t timeout) noexcept {
    if (!channel) return WEFT_MISUSE;
    return guarded([=] {
        auto& items = channel->channel;
        return status_of(timeout < 0 ? items.send(item)
                                     : items.send_for(item, Nanoseconds(timeout)));
    });
}

int weft_channel_receive(weft_channel* channel, int64_t timeout, void** item) noexcept {
    if (!item) return WEFT_MISUSE;
    *item = nullptr;
    if (!channel) return WEFT_MISUSE;
    return guarded([=] {
        auto& items = channel->channel;
        Result<void*> received =
            timeout < 0 ? items.receive() : items.receive_for(Nanoseconds(timeout));
        if (received) *item = *received;
        return status_of(received);
    });
}

int weft_channel_close(weft_channel* channel) noexcept {
    if (!channel) return WEFT_MISUSE;
    channel->channel.close();
    return WEFT_OK;
}

void weft_channel_free(weft_channel* channel) noexcept { destroy_handle(channel); }

// ---------------------------------------------------------------- contexts

int weft_context_background(weft_runtime* runtime, weft_context** context) noexcept {
    if (!context) return WEFT_MISUSE;
    *context = nullptr;
    return guarded([=] {
        return make_handle(context,
                           runtime ? Context::background(runtime->runtime) : Context::background());
    });
}

int weft_context_with_cancel(weft_context* parent, weft_context** context) noexcept {
    if (!context) return WEFT_MISUSE;
    *context = nullptr;
    return guarded([=] { return derive(parent, Deadline::never(), context); });
}

int weft_context_with_timeout(weft_context* parent, int64_t timeout,
                              weft_context** context) noexcept {
    if (!context) return WEFT_MISUSE;
    *context = nullptr;
    return guarded([=] { return derive(parent, deadline_after(timeout), context); });
}

int weft_context_with_deadline(weft_context* parent, int64_t deadline,
                               weft_context** context) noexcept {
    if (!context) return WEFT_MISUSE;
    *context = nullptr;
    Deadline at = Deadline::at(weft::Instant(Nanoseconds(deadline)));
    return guarded([=] { return derive(parent, at, context); });
}

int weft_context_cancel(weft_context* context) noexcept {
    if (!context || !context->source) return WEFT_MISUSE;
    return guarded([=]() -> int {
        context->source->cancel();
        return WEFT_OK;
    });
}

int weft_context_error(weft_context* context) noexcept {
    return guarded([=] { return status_of(context_or_ambient(context).check()); });
}

int weft_context_deadline(weft_context* context, int64_t* deadline) noexcept {
    if (!deadline) return WEFT_MISUSE;
    *deadline = context_or_ambient(context).deadline().instant().time_since_epoch().count();
    return WEFT_OK;
}

int weft_context_call(weft_context* context, weft_job job, void* argument, int* outcome) noexcept {
    if (!context || !job || !outcome) return WEFT_MISUSE;
    return guarded([=]() -> int {
        weft_context lent{context->context, weft_context::Owner::Call};
        CancelScope scope(lent.context.token());
        *outcome = call(job, lent, argument);
        return WEFT_OK;
    });
}

void weft_context_free(weft_context* context) noexcept {
    if (context && context->owner == weft_context::Owner::Call) return;  // it is only lent
    destroy_handle(context);
}

// ---------------------------------------------------------------- groups

int weft_group_new(weft_context* parent, weft_group** group) noexcept {
    if (!group) return WEFT_MISUSE;
    *group = nullptr;
    return guarded(
        [=] { return make_handle(group, weft::async::Group(context_or_ambient(parent))); });
}

int weft_group_go(weft_group* group, weft_job job, void* argument) noexcept {
    if (!group || !job) return WEFT_MISUSE;
    return guarded([=] {
        return status_of(
            group->group.go([=](Context& context) { return call_as_job(job, context, argument); }));
    });
}

int weft_group_wait(weft_group* group, int* outcome) noexcept {
    if (!group || !outcome) return WEFT_MISUSE;
    return guarded([=] { return split_outcome(group->group.wait(), *outcome); });
}

void weft_group_free(weft_group* group) noexcept { destroy_handle(group); }
