// Isolate: a V8 isolate with one context, and the worker that owns it.
//
// An isolate belongs to a pinned worker. JavaScript runs only there, in the worker's loop and on
// the thread's own stack, one turn at a time: a call into the script, then one drain of the
// microtasks. Fibers of that worker and other threads post jobs; each job makes at most one turn,
// and the worker returns to its fibers and descriptors after 200 us of jobs. Every entry into V8
// asserts that it happens on the owner's own stack.
//
// A turn that computes too long is ended by the watchdog, and one that fills the heap is ended by
// the heap limit. After the former the isolate can take the next turn; after the latter it is
// condemned: it takes no more turns and has to be replaced.
//
// The request that a piece of JavaScript runs for is kept in V8's continuation-preserved embedder
// data, which follows `await`: it is undefined for the application itself, or an object of the
// prelude whose property `request` is the request's number.
//
// The owner's thread only, unless said otherwise. It ends by dispose().
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

#include "weft/base/assert.h"
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

// A script of the prelude. V8 refers to its text, which is ASCII, without copying it; so the text
// lives as long as the process.
struct PreludeScript {
    std::string_view name;
    std::string_view source;
};

struct IsolateLimits {
    // Processor time of one turn.
    Nanoseconds turn_cpu = std::chrono::milliseconds(500);
    // If a turn runs for this much longer after V8 was told to terminate it, the process is ended.
    // Zero: the process is never ended for that.
    Nanoseconds overrun_max = Nanoseconds::zero();
    // Microtasks in one drain; 0: not counted, so only turn_cpu limits them. Counting costs some
    // 60 ns each.
    std::uint64_t microtasks = 0;
    // Of V8's heap, and of the memory of ArrayBuffers, which V8 allocates outside of it.
    std::size_t heap_bytes = std::size_t{256} * 1024 * 1024;
    std::size_t buffer_bytes = std::size_t{256} * 1024 * 1024;
};

enum class TurnEnd : std::uint8_t {
    Done,
    Threw,           // an exception was not caught; it has been reported
    TooLong,         // terminated by the watchdog, or by interrupt()
    MicrotaskLimit,  // terminated by the limit on microtasks
    HeapFull,        // terminated by the limit on the heap; the isolate is condemned now
    Condemned,       // not begun: the isolate was condemned before
};

struct IsolateOptions {
    Runtime* runtime = nullptr;  // outlives the isolate, as the watchdog does
    unsigned worker = 0;         // the owner, by its number in the runtime; a pinned worker
    Watchdog* watchdog = nullptr;
    // Where V8's worker tasks run (compiling and garbage collection beside the script). Null: they
    // run where they are posted, on the owner's thread.
    BlockingPool* pool = nullptr;
    std::span<const Binding> bindings;
    // The state after the prelude's scripts have run; empty: they are run now.
    std::span<const char> snapshot;
    std::span<const PreludeScript> prelude;
    IsolateLimits limits;
    // Describes what runs now, for crash reports: "shop: GET /users (request 41d2...)".
    std::function<std::string()> describe_running;
    // Receives an uncaught error as text for people, with a code frame and a stack.
    std::function<void(std::string_view text)> on_uncaught;
    // A turn was terminated, as TooLong or MicrotaskLimit, while it ran for this request, or for
    // the application (0). Called in the loop, after the turn; jobs that it posts run after what
    // that turn has left to do.
    std::function<void(double request, TurnEnd end)> on_ended_by_force;
    // A turn runs for long, or is paused at a breakpoint. Called repeatedly until it ends, by the
    // watchdog's thread or the owner's. It must not wait.
    std::function<void()> on_long_turn;
    // The heap was full, so the isolate is condemned. Called in the loop, after the turn.
    std::function<void()> on_condemned;
};

// Work for an isolate's loop. The poster keeps the record alive until `act` has been called.
struct Job : Completion {
    void (*act)(Job& job) = nullptr;
    Isolate* isolate = nullptr;
};

struct IsolateCounters {
    std::uint64_t turns = 0;
    std::uint64_t too_long = 0;
    std::uint64_t microtask_limit = 0;
    std::uint64_t heap_full = 0;
    std::uint64_t uncaught = 0;
    std::uint64_t tasks_started = 0;
    std::uint64_t tasks_settled = 0;
    std::uint64_t late = 0;  // outcomes that came after their request or their caller's wait
};

class Isolate {
public:
    // In the owner's loop.
    static Result<std::unique_ptr<Isolate>> create(IsolateOptions options);
    // In the owner's loop, when no task is under way. The isolate is destroyed in the loop, after
    // everything that its thread has posted there before.
    static void dispose(std::unique_ptr<Isolate> isolate);
    ~Isolate();
    Isolate(const Isolate&) = delete;
    Isolate& operator=(const Isolate&) = delete;

    static Isolate& of(v8::Isolate* isolate) { return *static_cast<Isolate*>(isolate->GetData(0)); }

    // Any thread. Whether it is the owner's: then it runs the loop, or a fiber of the worker.
    bool is_on_owner_thread() const;
    bool is_in_turn() const { return in_turn_; }

    // The owner's thread: its loop and its fibers.
    void post(Job& job);
    // Any thread.
    void post_from_anywhere(Job& job);
    // The owner's thread; the function is called once, in a job of its own.
    void post(std::move_only_function<void()> function);

    // One turn: body(context), then a drain. In a job, or wherever the loop runs.
    template <class Body>
    TurnEnd turn(Body&& body);

    // In a turn: C++ will read this promise's outcome, so its rejection is not reported as
    // unhandled.
    void expect_outcome(v8::Local<v8::Promise> promise);
    // A fiber of the owner's worker: waits until the promise is settled. The error is the rejection
    // reason as text for people, or Closed when nothing is left that could settle the promise.
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
    void condemn() {
        WEFT_DASSERT(is_on_owner_thread(), "the owner's loop reads this without a lock");
        condemned_ = true;
    }
    // A fiber of the owner's worker, after it has cancelled the tasks: the isolate takes no more
    // turns. Waits until the last task has ended and the last job has run. One fiber at a time.
    void wait_for_end();
    // No task and no asynchronous work of V8 is pending, no job is waiting and no timer is set, so
    // no more JavaScript will run unless somebody posts a job.
    bool is_idle() const { return tasks_ == 0 && !first_job_ && !timer_armed_ && !has_unsettled(); }
    // As is_idle(), but timers that do not keep a script running may be set.
    bool is_finished() const {
        return tasks_ == 0 && !first_job_ && !(timer_armed_ && timers_keep_alive_) &&
               !has_unsettled();
    }
    std::size_t tasks() const { return tasks_; }

    // The number of the request that the running JavaScript belongs to; 0 is the application.
    double current_request() const;

    // The function realm.<section>.<name> of the prelude; empty when there is none.
    v8::MaybeLocal<v8::Value> hook_of(std::string_view section, std::string_view name) const;

    // Called in the loop when the isolate has become idle, see is_idle().
    std::function<void()> on_idle;
    // Called in the loop when nothing keeps a script running any more, see is_finished().
    std::function<void()> on_finished;
    // The token that cancels the tasks of a request; empty when the request is over.
    std::function<std::optional<CancelToken>(double request)> find_token;

    // Any thread, while the isolate lives: terminates the turn that runs, if any, as TooLong.
    void interrupt() { watched_->end_now(); }

    // ---- for the debugger, js/inspector.h
    Inspector* inspector = nullptr;
    // Any thread: the inspector handles its inbox in a turn of its own.
    void wake_inspector();
    // The limit on the turn's processor time is suspended until resume_turn(). Neither does
    // anything outside of a turn.
    void pause_turn() {
        if (in_turn_) watched_->pause();
    }
    void resume_turn() {
        if (in_turn_) watched_->begin();
    }
    // Makes this the current isolate of the thread.
    void enter();

    // ---- for the natives of js/
    // Sets the one timer that wakes the prelude's timers, at a time of now_ms(); 1e300 and later
    // clear it.
    void arm_timer(double deadline_ms);
    // Whether the timers that are set keep a script running.
    void set_timers_keep_alive(bool keep) { timers_keep_alive_ = keep; }
    // In a turn of run_timers(), after each callback: drains the callback's microtasks and gives
    // the next callback a full time limit. True: run_timers() has used its share of the loop.
    bool end_callback();
    void collect_garbage();
    void report_uncaught(v8::Local<v8::Value> error, v8::Local<v8::Message> message);
    void task_begins() {
        WEFT_DASSERT(is_on_owner_thread(), "the owner counts its tasks without a lock");
        ++tasks_;
        ++counters_.tasks_started;
    }
    void task_ends();
    // For a promise that V8 itself settles later, such as that of WebAssembly.compile(): until then
    // the isolate is not idle. A reaction of the promise could not tell its end: it is lost if the
    // turn is ended by force.
    void pending_until_settled(v8::Local<v8::Promise> promise);
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
    bool has_unsettled() const { return !unsettled_.empty() && find_unsettled(); }
    bool find_unsettled() const;

    IsolateOptions options_;
    IsolateCounters counters_;
    std::unique_ptr<BufferMemory> buffers_;
    v8::StartupData blob_{};
    v8::Isolate* isolate_ = nullptr;
    v8::Global<v8::Context> context_;
    v8::Global<v8::Object> realm_;
    v8::Global<v8::Function> run_due_timers_;
    v8::Global<v8::String> request_name_;  // "request", the property of a continuation
    std::unique_ptr<Modules> modules_;
    std::unique_ptr<WatchedTurns> watched_;
    std::shared_ptr<ForegroundTasks> foreground_;
    pthread_t owner_{};
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
    bool timers_keep_alive_ = true;
    bool in_turn_ = false;
    bool heap_full_ = false;
    std::size_t heap_granted_bytes_ = 0;  // beyond the heap limit
    bool microtask_limit_hit_ = false;    // it has terminated this turn
    double microtask_limit_request_ = 0;  // the request whose microtask was beyond the limit
    std::uint64_t microtasks_ = 0;        // run in this drain, if they are counted
    bool condemned_ = false;
    std::size_t tasks_ = 0;
    // Of pending_until_settled(). Those that have been settled are removed when they are looked at.
    mutable std::vector<v8::Global<v8::Promise>> unsettled_;
    TaskTable task_table_;
    std::int64_t time_origin_ns_ = 0;
    double time_origin_ms_ = 0;
    struct Rejection {
        v8::Global<v8::Promise> promise;
        v8::Global<v8::Value> reason;
    };
    std::vector<Rejection> rejections_;
    std::vector<Awaiting*> awaiting_;  // the fibers that wait for a promise
    WaitRef ending_;                   // the fiber in wait_for_end()
    bool end_awaited_ = false;         // ending_ is valid
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
    WEFT_DASSERT(v8::Isolate::TryGetCurrent() == isolate_, "no other isolate runs within a turn");
    return end_turn(context, caught);
}

}  // namespace weft::js
