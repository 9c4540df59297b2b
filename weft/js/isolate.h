// Isolate: one JavaScript world, and the thread that owns it.
//
// An isolate belongs to a pinned worker. JavaScript runs there alone, in the worker's loop and on
// the thread's own stack, one turn at a time: a call into the script, then one drain of the
// microtasks. Fibers of that worker, and everybody else, hand in jobs; each job makes at most one
// turn, and between two jobs the worker looks after its fibers and descriptors. Every entry asserts
// that it happens on the owner's own stack.
//
// A turn that computes too long is ended by the watchdog, one that fills the heap by the limit on
// it. The first leaves the isolate good for the next turn; after the second the isolate is
// condemned: it takes no more turns and is to be replaced.
//
// Which request a piece of JavaScript belongs to follows `await` by V8's continuation-preserved
// embedder data: undefined, which is the application itself, or an object of the prelude whose
// property `request` is the request's number.
//
// Owning isolate only, unless said otherwise.
#pragma once

#include <v8.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/schedule/loop_timer.h"
#include "weft/fiber/waiter.h"
#include "weft/js/binding.h"
#include "weft/js/tasks.h"
#include "weft/js/watchdog.h"

namespace weft {
class BlockingPool;
class Runtime;
}  // namespace weft

namespace weft::js {

class ForegroundTasks;
class Inspector;
class Isolate;
class Modules;

struct PreludeScript {
    std::string_view name;
    std::string_view source;
};

struct IsolateLimits {
    // Processor time of one turn.
    Nanoseconds turn_cpu = std::chrono::milliseconds(500);
    // A turn that goes on for so much longer although it was ended ends the process; zero: nothing
    // does.
    Nanoseconds patience = Nanoseconds::zero();
    // Of one drain; 0: only their time counts. Counting costs some 60 ns each.
    std::uint64_t microtasks = 0;
    // Of V8's heap; a quarter of it more for ArrayBuffers is counted apart.
    std::size_t heap_bytes = std::size_t{256} * 1024 * 1024;
    std::size_t buffer_bytes = std::size_t{256} * 1024 * 1024;
};

enum class TurnEnd : std::uint8_t {
    Done,
    Threw,      // and was reported
    TooLong,    // ended by the watchdog
    Flooded,    // ended by the limit on microtasks
    HeapFull,   // ended by the limit on the heap
    Condemned,  // not begun: the heap was full before
};

struct IsolateOptions {
    Runtime* runtime = nullptr;  // outlives the isolate
    unsigned worker = 0;         // the owner, by its number in the runtime; a pinned one
    Watchdog* watchdog = nullptr;
    // Where V8's worker tasks run: compiling and collecting beside the script. Null: where they are
    // posted, on the owner's thread.
    BlockingPool* pool = nullptr;
    std::span<const Binding> bindings;
    // What the prelude's scripts have left; empty: they are run now.
    std::span<const char> snapshot;
    std::span<const PreludeScript> prelude;
    IsolateLimits limits;
    // What runs now, for reports: "shop: GET /users (request 41d2...)".
    std::function<std::string()> whereabouts;
    // An error that nobody caught, as text for people: with a code frame and a stack.
    std::function<void(std::string_view text)> on_uncaught;
    // A turn was ended by force, TooLong or Flooded, while it ran for this request, or for the
    // application (0). In the loop, after the turn; jobs that it posts run behind what that turn
    // has left to do.
    std::function<void(double request, TurnEnd end)> on_ended_by_force;
    // A turn goes on for long, or stands at a breakpoint: again and again until it ends, by another
    // thread or its own. It must not wait.
    std::function<void()> on_long_turn;
    // The heap was full: no more turns are taken. In the loop, after the turn.
    std::function<void()> on_condemned;
};

// Something to be done by an isolate. Whoever posts it keeps it alive until it has run.
struct Job : Completion {
    void (*act)(Job& job) = nullptr;
    Isolate* isolate = nullptr;
};

struct IsolateCounters {
    std::uint64_t turns = 0;
    std::uint64_t too_long = 0;
    std::uint64_t flooded = 0;
    std::uint64_t heap_full = 0;
    std::uint64_t uncaught = 0;
    std::uint64_t tasks_started = 0;
    std::uint64_t tasks_settled = 0;
    std::uint64_t late = 0;  // what came after the end of its request, or of its caller's wait
};

class Isolate {
public:
    // In the owner's loop.
    static Result<std::unique_ptr<Isolate>> create(IsolateOptions options);
    // In the owner's loop, when no task is under way: ends it behind all that its own thread has
    // posted to the loop before.
    static void dispose(std::unique_ptr<Isolate> isolate);
    ~Isolate();
    Isolate(const Isolate&) = delete;
    Isolate& operator=(const Isolate&) = delete;

    static Isolate& of(v8::Isolate* isolate) { return *static_cast<Isolate*>(isolate->GetData(0)); }

    // The owner's thread: its loop and its fibers.
    void post(Job& job);
    // Any thread.
    void post_from_anywhere(Job& job);
    // The owner's thread; the function is called once, in a job of its own.
    void post(std::move_only_function<void()> function);

    // One turn: body(context), then a drain. In a job, or wherever the loop runs.
    template <class Body>
    TurnEnd turn(Body&& body);

    // In a turn: somebody will ask for this promise's outcome, so its rejection is not unhandled.
    void expect_outcome(v8::Local<v8::Promise> promise);
    // A fiber of the owner's worker: waits until the promise is settled. The error is the reason as
    // text for people. When nothing is left that could settle it, Closed.
    Result<void> await(v8::Global<v8::Promise> promise);

    v8::Isolate* v8() const { return isolate_; }
    v8::Local<v8::Context> context() const { return context_.Get(isolate_); }
    v8::Local<v8::Object> realm() const { return realm_.Get(isolate_); }
    Modules& modules() { return *modules_; }
    const IsolateOptions& options() const { return options_; }
    const IsolateCounters& counters() const { return counters_; }
    IsolateCounters& counters() { return counters_; }
    bool is_condemned() const { return condemned_; }
    // Takes no more turns from now on.
    void condemn() { condemned_ = true; }
    // A fiber of the owner's worker: takes no more turns, and waits until the last task has ended
    // and the last job has found that it is too late. Whoever calls has cancelled the tasks.
    void wait_for_end();
    // It has no task and no work of V8's own under way that a script awaits, no job waiting and no
    // timer set: nothing can happen any more.
    bool is_idle() const { return tasks_ == 0 && pending_ == 0 && !first_job_ && !timer_armed_; }
    // As is_idle(), but for the timers that keep no script from its end.
    bool is_at_rest() const {
        return tasks_ == 0 && pending_ == 0 && !first_job_ && !(timer_armed_ && timers_hold_);
    }
    std::size_t tasks() const { return tasks_; }

    // Of what runs now; 0 is the application.
    double current_request() const;

    // A function that the prelude keeps in realm.<room>.<name>; empty when there is none.
    v8::MaybeLocal<v8::Value> hook_of(std::string_view room, std::string_view name) const;

    // Called when nothing is under way any more: no task, no job, no timer.
    std::function<void()> on_idle;
    // Called when nothing is that a script waits for at its end: timers of signals may be set.
    std::function<void()> on_rest;
    // Above the fibers of a request's tasks; nothing: the request is over.
    std::function<std::optional<CancelToken>(double request)> find_token;

    // Any thread, while the isolate lives: ends the turn that runs now, if one does, as TooLong.
    void interrupt() { watched_->end_now(); }

    // ---- for the debugger, js/inspector.h
    Inspector* inspector = nullptr;
    // Any thread: the inspector empties its inbox in a turn of its own.
    void wake_inspector();
    // Until resume_turn() the limits of the turn do not count, if there is one.
    void pause_turn() {
        if (in_turn_) watched_->pause();
    }
    void resume_turn() {
        if (in_turn_) watched_->begin();
    }
    void enter();

    // ---- for the natives of js/
    void arm_timer(double deadline_ms);
    // False: those that are set keep no script from its end.
    void set_timers_hold(bool hold) { timers_hold_ = hold; }
    // In a turn of run_timers(), behind each callback: the callback's microtasks. True: it is time
    // to look after others.
    bool end_callback();
    void collect_garbage();
    void report_uncaught(v8::Local<v8::Value> error, v8::Local<v8::Message> message);
    void task_begins() {
        ++tasks_;
        ++counters_.tasks_started;
    }
    void task_ends();
    // What V8 does by itself and settles by itself.
    void pending_begins() { ++pending_; }
    void pending_ends() { --pending_; }
    TaskTable& task_table() { return task_table_; }
    // Milliseconds since the isolate's time origin, as performance.now() has them.
    double now_ms() const;
    double time_origin_ms() const { return time_origin_ms_; }

private:
    class BufferMemory;
    struct Pump : Completion {
        Isolate* isolate;
    };
    struct Record : Completion {
        Isolate* isolate;
    };

    explicit Isolate(IsolateOptions options);
    Result<void> open();
    Result<void> make_context();
    void enqueue(Job& job);
    void ask_for_pump();
    void pump();
    void after_jobs();
    void run_timers();
    void turn_was_ended(double request, TurnEnd end);
    void repair();
    void drain();
    static void on_promise(v8::PromiseHookType type, v8::Local<v8::Promise> promise,
                           v8::Local<v8::Value> parent);
    void post_platform_tasks();
    void run_platform_tasks();
    void begin_turn();
    TurnEnd end_turn(v8::Local<v8::Context> context, v8::TryCatch& caught);
    void report_rejections();
    void on_rejection(v8::PromiseRejectMessage message);
    struct Awaiting;
    void attach(Awaiting& awaiting, const v8::Global<v8::Promise>& promise);
    static void on_settled(const v8::FunctionCallbackInfo<v8::Value>& info);
    void describe(Awaiting& awaiting, const v8::Global<v8::Value>& reason);
    static std::size_t on_near_heap_limit(void* self, std::size_t current, std::size_t initial);
    static void on_collected(v8::Isolate* isolate, v8::GCType type, v8::GCCallbackFlags flags,
                             void* self);
    bool is_on_own_stack() const;

    IsolateOptions options_;
    IsolateCounters counters_;
    std::unique_ptr<BufferMemory> buffers_;
    v8::StartupData blob_{};
    v8::Isolate* isolate_ = nullptr;
    v8::Global<v8::Context> context_;
    v8::Global<v8::Object> realm_;
    v8::Global<v8::Function> run_due_timers_;
    v8::Global<v8::String> request_name_;  // of the property of a continuation
    std::unique_ptr<Modules> modules_;
    std::unique_ptr<WatchedTurns> watched_;
    std::shared_ptr<ForegroundTasks> foreground_;
    std::uintptr_t stack_bottom_ = 0;
    std::uintptr_t stack_top_ = 0;

    Job* first_job_ = nullptr;
    Job* last_job_ = nullptr;
    Pump pump_record_;
    bool pump_posted_ = false;
    Record timer_record_;
    LoopTimer timer_;
    Record foreground_record_;
    LoopTimer foreground_timer_;
    std::shared_ptr<Isolate*> self_ = std::make_shared<Isolate*>(this);
    bool timer_armed_ = false;
    std::int64_t timers_begun_ns_ = 0;
    bool timers_hold_ = true;
    bool in_turn_ = false;
    bool heap_full_ = false;
    std::size_t heap_granted_bytes_ = 0;  // beyond the limit
    bool flooded_ = false;
    double flooding_request_ = 0;   // whose microtask was one too many
    std::uint64_t microtasks_ = 0;  // of this drain, where they are counted
    bool condemned_ = false;
    std::size_t tasks_ = 0;
    std::size_t pending_ = 0;
    TaskTable task_table_;
    std::int64_t time_origin_ns_ = 0;
    double time_origin_ms_ = 0;
    struct Rejection {
        v8::Global<v8::Promise> promise;
        v8::Global<v8::Value> reason;
    };
    std::vector<Rejection> rejections_;
    // Fibers that wait for a promise.
    std::vector<Awaiting*> awaiting_;
    WaitRef ending_;  // of wait_for_end()
    bool end_awaited_ = false;
};

template <class Body>
TurnEnd Isolate::turn(Body&& body) {
    if (condemned_) return TurnEnd::Condemned;
    enter();
    v8::HandleScope handles(isolate_);
    v8::TryCatch caught(isolate_);
    begin_turn();
    v8::Local<v8::Context> context = this->context();
    body(context);
    return end_turn(context, caught);
}

}  // namespace weft::js
