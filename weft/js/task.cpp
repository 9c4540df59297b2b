#include "weft/js/task.h"

#include <memory>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/ticket.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"
#include "weft/js/owned_bytes.h"
#include "weft/js/tasks.h"

namespace weft::js {
namespace {

// Owned by the fiber that does the work, afterwards by the isolate's queue of jobs.
struct Task : Job {
    Isolate* owner = nullptr;
    v8::Global<v8::Promise::Resolver> resolver;
    Ticket ticket;
    std::optional<double> request;  // the request it belongs to; none if it was given a token
    Work work;
    TaskCancel cancel;
    std::optional<Result<Settled>> outcome;
};

v8::Local<v8::Promise> start(Isolate& isolate, std::string_view name, Work work,
                             std::optional<CancelToken> token, std::optional<double> request);

void settle_promise(Task& task, v8::Local<v8::Context> context) {
    Isolate& isolate = *task.owner;
    WEFT_ASSERT(task.outcome, "a task is settled when its work has ended");
    v8::Isolate* engine = isolate.v8();
    v8::Local<v8::Promise::Resolver> resolver = task.resolver.Get(engine);
    v8::Maybe<bool> done = v8::Nothing<bool>();
    if (!task.outcome->has_value()) {
        done = resolver->Reject(context, to_exception(engine, task.outcome->error()));
    } else {
        v8::TryCatch caught(engine);
        v8::Local<v8::Value> value;
        if ((**task.outcome)(isolate).ToLocal(&value))
            done = resolver->Resolve(context, value);
        else if (!caught.HasTerminated())
            done = resolver->Reject(context, caught.Exception());
    }
    seen_by_turn(done);
}

void settle(Job& job) {
    std::unique_ptr<Task> task(static_cast<Task*>(&job));
    Isolate& isolate = *task->owner;
    isolate.task_table().take(task->ticket);
    isolate.task_ends();
    bool is_late = task->request && !isolate.find_token(*task->request);
    if (is_late || isolate.is_condemned()) ++isolate.counters().late;
    // The value of work for a request that is over is destroyed; its script gets an error instead.
    if (is_late && task->outcome->has_value())
        task->outcome.emplace(Error(ErrorKind::Cancelled, "the request is over"));
    isolate.turn([&](v8::Local<v8::Context> context) { settle_promise(*task, context); });
    task->resolver.Reset();
}

void run_work(std::unique_ptr<Task> task) {
    WEFT_ASSERT(!task->cancel.source && !task->outcome, "the work of a task runs once");
    WEFT_DASSERT(task->owner->is_on_owner_thread(), "the work runs on the owner's worker");
    {
        CancelSource source;
        if (task->cancel.requested) source.cancel();
        task->cancel.source = &source;
        CancelScope ambient(source.token());
        try {
            task->outcome.emplace(task->work());
        } catch (...) {
            task->outcome.emplace(Error::from_current_exception());
        }
        task->work = {};
        task->cancel.source = nullptr;
    }
    task->act = settle;
    Isolate& isolate = *task->owner;
    isolate.post(*task.release());
}

}  // namespace

Settled settled() {
    return [](Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        return v8::Undefined(isolate.v8()).As<v8::Value>();
    };
}

Settled settled(std::string utf8) {
    return [utf8 = std::move(utf8)](Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        return v8::String::NewFromUtf8(isolate.v8(), utf8.data(), v8::NewStringType::kNormal,
                                       static_cast<int>(utf8.size()))
            .FromMaybe(v8::Local<v8::String>())
            .As<v8::Value>();
    };
}

Settled settled(std::vector<std::byte>&& bytes) {
    return [bytes = std::move(bytes)](Isolate& isolate) mutable -> v8::MaybeLocal<v8::Value> {
        return new_array_buffer(isolate.v8(), std::move(bytes)).As<v8::Value>();
    };
}

Settled settled(OwnedBytes bytes) {
    return [bytes = std::move(bytes)](Isolate& isolate) mutable -> v8::MaybeLocal<v8::Value> {
        return new_array_buffer(isolate.v8(), std::move(bytes)).As<v8::Value>();
    };
}

Settled settled(double number) {
    return [number](Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        return v8::Number::New(isolate.v8(), number).As<v8::Value>();
    };
}

v8::Local<v8::Promise> start_task(Isolate& isolate, std::string_view name, Work work) {
    double request = isolate.current_request();
    return start(isolate, name, std::move(work), isolate.find_token(request), request);
}

v8::Local<v8::Promise> start_task(Isolate& isolate, std::string_view name, Work work,
                                  std::optional<CancelToken> token) {
    return start(isolate, name, std::move(work), std::move(token), std::nullopt);
}

namespace {

v8::Local<v8::Promise> start(Isolate& isolate, std::string_view name, Work work,
                             std::optional<CancelToken> token, std::optional<double> request) {
    WEFT_DASSERT(isolate.is_on_owner_thread(), "a task is started by its isolate's own thread");
    WEFT_DASSERT(work, "a task has work to do");
    v8::Isolate* engine = isolate.v8();
    v8::Local<v8::Context> context = isolate.context();
    v8::Local<v8::Promise::Resolver> resolver =
        v8::Promise::Resolver::New(context).ToLocalChecked();
    auto refuse = [&](const Error& error) {
        seen_by_turn(resolver->Reject(context, to_exception(engine, error)));
        return resolver->GetPromise();
    };
    // If this task is refused, last_task() must not return the one before.
    isolate.task_table().forget_last();
    if (!token) {
        ++isolate.counters().late;
        return refuse(Error(ErrorKind::Cancelled, "the request is over"));
    }
    auto task = std::make_unique<Task>();
    task->owner = &isolate;
    task->resolver.Reset(engine, resolver);
    task->request = request;
    task->work = std::move(work);
    Result<Ticket> ticket = isolate.task_table().insert(task->cancel);
    if (!ticket) return refuse(ticket.error());
    task->ticket = *ticket;
    isolate.task_begins();
    // If there is no memory for the fiber, its closure is destroyed without having run; the guard
    // then settles the promise.
    struct Guard {
        std::unique_ptr<Task> task;
        explicit Guard(std::unique_ptr<Task> task_in) : task(std::move(task_in)) {}
        Guard(Guard&&) = default;
        ~Guard() {
            if (!task) return;
            WEFT_ASSERT(!task->outcome, "the work has not run");
            task->outcome.emplace(Error(ErrorKind::OutOfMemory, "no fiber for a task"));
            task->act = settle;
            Isolate& isolate = *task->owner;
            isolate.post(*task.release());
        }
    };
    // InTurn: tasks must begin in the order in which the script has started them.
    static_cast<void>(
        spawn([guard = Guard(std::move(task))]() mutable { run_work(std::move(guard.task)); },
              {.name = name, .start = Start::InTurn, .token = token->state()}));
    return resolver->GetPromise();
}

}  // namespace

void start_task(Call& call, std::string_view name, Work work) {
    call.give(start_task(call.isolate(), name, std::move(work)));
}

double last_task(Isolate& isolate) { return isolate.task_table().last(); }

void cancel_task(Isolate& isolate, double task) { isolate.task_table().cancel(task); }

}  // namespace weft::js
