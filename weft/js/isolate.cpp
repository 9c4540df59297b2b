#include "weft/js/isolate.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/fiber/runtime.h"
#include "weft/js/crash_report.h"
#include "weft/js/describe.h"
#include "weft/js/inspector.h"
#include "weft/js/modules.h"
#include "weft/js/platform.h"
#include "weft/js/snapshot.h"

namespace weft::js {
namespace {

// The stack that V8's own functions may use below the limit that it checks.
constexpr std::size_t kStackReserveBytes = 256 * 1024;
// How long jobs may run one after the other before the worker returns to its loop.
constexpr std::int64_t kPumpNs = 200'000;
// How many microtasks may run beyond the limit until one tells which request they belong to.
constexpr std::uint64_t kMicrotasksBeyondLimitMax = 16;
// The initial size of the young generation. Each of its collections walks all roots, of which the
// prelude has many, so collections should be rare. A third of it is filled between two of them.
constexpr std::size_t kYoungGenerationBytes = std::size_t{12} * 1024 * 1024;
// V8 10.2 ends the process when the grant at the heap limit is too small for its operation.
constexpr std::size_t kHeapGrantBytesMin = std::size_t{256} * 1024 * 1024;
// The sum of all grants is limited to this or to three times the heap limit, whichever is larger;
// beyond it V8 ends the process. So no single operation of V8 can use up the machine's memory.
constexpr std::size_t kHeapGrantedBytesMax = std::size_t{1024} * 1024 * 1024;
// Memory outside of the heap that is allowed beside the limit on ArrayBuffers: memories of
// WebAssembly, and what natives have read. V8 also starts a collection after so much growth.
constexpr std::int64_t kOutsideBytes = std::int64_t{64} * 1024 * 1024;

std::pair<std::uintptr_t, std::uintptr_t> own_stack() {
    pthread_attr_t attributes;
    void* bottom = nullptr;
    std::size_t size = 0;
    int error = ::pthread_getattr_np(::pthread_self(), &attributes);
    WEFT_ASSERT(error == 0, "a thread knows its stack");
    ::pthread_attr_getstack(&attributes, &bottom, &size);
    ::pthread_attr_destroy(&attributes);
    auto address = reinterpret_cast<std::uintptr_t>(bottom);
    return {address, address + size};
}

}  // namespace

// The memory of ArrayBuffers. It is counted, so that a script cannot evade the heap limit with
// buffers. V8 also frees from its own threads.
class Isolate::BufferMemory final : public v8::ArrayBuffer::Allocator {
public:
    explicit BufferMemory(std::size_t limit) : limit_(limit) {}

    void* Allocate(std::size_t size) override { return take(size) ? zeroed(size) : nullptr; }
    void* AllocateUninitialized(std::size_t size) override {
        if (!take(size)) return nullptr;
        void* memory = std::malloc(size);
        if (!memory) give_back(size);
        return memory;
    }
    void Free(void* memory, std::size_t size) override {
        std::free(memory);
        give_back(size);
    }

private:
    bool take(std::size_t size) {
        // Relaxed, also in give_back(): a count; no other memory is read through it.
        if (used_.fetch_add(size, std::memory_order_relaxed) + size <= limit_) return true;
        give_back(size);
        return false;
    }
    void give_back(std::size_t size) {
        [[maybe_unused]] std::size_t before = used_.fetch_sub(size, std::memory_order_relaxed);
        WEFT_DASSERT(before >= size, "memory is given back with the size it was taken with");
    }
    void* zeroed(std::size_t size) {
        void* memory = std::calloc(size, 1);
        if (!memory) give_back(size);
        return memory;
    }

    const std::size_t limit_;
    Atomic<std::size_t> used_{0};
};

Result<std::unique_ptr<Isolate>> Isolate::create(IsolateOptions options) {
    // tidy: allow new: its constructor is private
    std::unique_ptr<Isolate> made(new Isolate(std::move(options)));
    WEFT_TRY(made->open());
    return made;
}

Isolate::Isolate(IsolateOptions options)
    : options_(std::move(options)), timer_(timer_record_), foreground_timer_(foreground_record_) {
    pump_record_.isolate = timer_record_.isolate = foreground_record_.isolate = this;
    pump_record_.run = [](Completion& record) { static_cast<Pump&>(record).isolate->pump(); };
    timer_record_.run = [](Completion& record) {
        static_cast<Record&>(record).isolate->run_timers();
    };
    foreground_record_.run = [](Completion& record) {
        Isolate& self = *static_cast<Record&>(record).isolate;
        self.foreground_timer_.begin_run();
        self.run_platform_tasks();
    };
}

Result<void> Isolate::open() {
    WEFT_ASSERT(options_.runtime && options_.watchdog, "an isolate has a runtime and a watchdog");
    WEFT_ASSERT(options_.worker < options_.runtime->worker_count(), "the owner is a worker");
    WEFT_ASSERT(options_.snapshot.size() <= INT_MAX, "V8 counts the bytes of a snapshot in an int");
    owner_ = ::pthread_self();
    std::tie(stack_bottom_, stack_top_) = own_stack();
    WEFT_ASSERT(stack_top_ - stack_bottom_ > kStackReserveBytes,
                "the owner's stack is larger than what is reserved for V8's own functions");
    Platform& platform = Platform::start(options_.pool);
    time_origin_ns_ = env::now_ns();
    time_origin_ms_ = static_cast<double>(env::wall_ns()) / 1e6;
    buffers_ = std::make_unique<BufferMemory>(options_.limits.buffer_bytes);
    v8::Isolate::CreateParams parameters;
    parameters.array_buffer_allocator = buffers_.get();
    parameters.constraints.ConfigureDefaultsFromHeapSize(0, options_.limits.heap_bytes);
    parameters.constraints.set_initial_young_generation_size_in_bytes(std::min(
        kYoungGenerationBytes, parameters.constraints.max_young_generation_size_in_bytes()));
    parameters.external_references = external_references(options_.bindings, options_.prelude);
    if (!options_.snapshot.empty()) {
        blob_.data = options_.snapshot.data();
        blob_.raw_size = static_cast<int>(options_.snapshot.size());
        parameters.snapshot_blob = &blob_;
    }
    isolate_ = v8::Isolate::Allocate();
    foreground_ = platform.add_isolate(isolate_);
    foreground_->set_notify([this] { post_platform_tasks(); });
    v8::Isolate::Initialize(isolate_, parameters);
    isolate_->SetData(0, this);
    isolate_->SetMicrotasksPolicy(v8::MicrotasksPolicy::kExplicit);
    isolate_->SetStackLimit(stack_bottom_ + kStackReserveBytes);
    isolate_->SetCaptureStackTraceForUncaughtExceptions(true, 20);
    // A thread blocked in Atomics.wait() uses no processor time, so the turn's limit would not end
    // it, and its whole worker would stand still. It is a TypeError, as on a browser's main thread.
    isolate_->SetAllowAtomicsWait(false);
    report_crashes_of(*isolate_);
    isolate_->AddNearHeapLimitCallback(on_near_heap_limit, this);
    isolate_->AddGCEpilogueCallback(on_collected, this, v8::kGCTypeMarkSweepCompact);
    isolate_->SetPromiseRejectCallback([](v8::PromiseRejectMessage message) {
        of(v8::Isolate::GetCurrent()).on_rejection(message);
    });
    if (options_.limits.microtasks > 0) isolate_->SetPromiseHook(on_promise);
    watched_ =
        std::make_unique<WatchedTurns>(*options_.watchdog, *isolate_, options_.limits.turn_cpu,
                                       options_.limits.overrun_max, options_.on_long_turn);
    enter();
    return make_context();
}

Result<void> Isolate::make_context() {
    v8::HandleScope handles(isolate_);
    v8::Local<v8::Context> context;
    v8::Local<v8::Object> realm;
    if (!options_.snapshot.empty()) {
        context = v8::Context::FromSnapshot(isolate_, 0).FromMaybe(v8::Local<v8::Context>());
        WEFT_ASSERT(!context.IsEmpty(), "the snapshot has a context");
        context->Enter();
        realm = context->GetDataFromSnapshotOnce<v8::Object>(0).ToLocalChecked();
    } else {
        context = v8::Context::New(isolate_);
        context->Enter();
        realm = WEFT_TRY(run_prelude(context, options_.bindings, options_.prelude));
    }
    context_.Reset(isolate_, context);
    realm_.Reset(isolate_, realm);
    request_name_.Reset(isolate_, to_v8(isolate_, "request"));
    // V8 adds some objects to a context only after the snapshot has been read; the prelude
    // completes them here.
    v8::Local<v8::Value> complete;
    v8::TryCatch caught(isolate_);
    if (hook_of("language", "complete").ToLocal(&complete))
        seen_by_turn(
            complete.As<v8::Function>()->Call(context, v8::Undefined(isolate_), 0, nullptr));
    WEFT_ASSERT(!caught.HasCaught(), "the prelude completes every context");
    modules_ = std::make_unique<Modules>(*this);
    return {};
}

void Isolate::dispose(std::unique_ptr<Isolate> isolate) {
    WEFT_ASSERT(isolate->is_on_own_stack(), "an isolate is disposed of in its owner's loop");
    WEFT_ASSERT(isolate->tasks_ == 0, "an isolate is disposed of when none of its tasks runs");
    WEFT_ASSERT(!isolate->in_turn_, "an isolate is disposed of between its turns");
    isolate->condemned_ = true;
    isolate->timer_.cancel();
    isolate->foreground_timer_.cancel();
    isolate->foreground_->set_notify({});
    struct Last : Completion {
        std::unique_ptr<Isolate> isolate;
    };
    auto last = std::make_unique<Last>();
    Runtime& runtime = *isolate->options_.runtime;
    unsigned worker = isolate->options_.worker;
    last->isolate = std::move(isolate);
    last->run = [](Completion& record) { std::unique_ptr<Last> own(static_cast<Last*>(&record)); };
    if (runtime.post(worker, *last)) static_cast<void>(last.release());
}

Isolate::~Isolate() {
    if (!isolate_) return;
    WEFT_ASSERT(tasks_ == 0, "an isolate ends when none of its tasks is under way");
    WEFT_ASSERT(!first_job_, "an isolate ends when no job is waiting");
    WEFT_ASSERT(!in_turn_, "an isolate ends between its turns");
    WEFT_ASSERT(!end_awaited_, "wait_for_end() returns before the isolate ends");
    timer_.cancel();
    foreground_timer_.cancel();
    foreground_->set_notify({});
    enter();
    rejections_.clear();
    unsettled_.clear();
    modules_.reset();
    run_due_timers_.Reset();
    realm_.Reset();
    request_name_.Reset();
    {
        v8::HandleScope handles(isolate_);
        if (!context_.IsEmpty()) context()->Exit();
    }
    context_.Reset();
    watched_.reset();
    isolate_->RemoveNearHeapLimitCallback(on_near_heap_limit, 0);
    isolate_->RemoveGCEpilogueCallback(on_collected, this);
    isolate_->Exit();
    // Before the memory is freed: another thread may allocate its isolate at the same address.
    Platform::start(nullptr).remove_isolate(isolate_);
    isolate_->Dispose();
}

// A fiber in await(). It lives in that fiber's stack frame.
struct Isolate::Awaiting {
    WaitRef waiter;
    Result<void> outcome;
};

// ---------------------------------------------------------------- jobs

void Isolate::post(Job& job) {
    job.isolate = this;
    enqueue(job);
}

void Isolate::post_from_anywhere(Job& job) {
    job.isolate = this;
    job.run = [](Completion& record) {
        auto& posted = static_cast<Job&>(record);
        posted.isolate->enqueue(posted);
    };
    Result<void> posted = options_.runtime->post(options_.worker, job);
    WEFT_ASSERT(posted.has_value(), "the runtime outlives the isolate");
}

void Isolate::post(std::move_only_function<void()> function) {
    struct Once : Job {
        std::move_only_function<void()> function;
    };
    WEFT_DASSERT(function, "a job has a function to call");
    auto once = std::make_unique<Once>();
    once->function = std::move(function);
    once->act = [](Job& job) {
        std::unique_ptr<Once> self(static_cast<Once*>(&job));
        self->function();
    };
    post(*once.release());
}

void Isolate::enqueue(Job& job) {
    WEFT_DASSERT(is_on_owner_thread(), "only the owner's thread may touch the queue of jobs");
    WEFT_DASSERT(job.act, "a job has something to do");
    WEFT_DASSERT(&job != last_job_, "a job is queued once at a time");
    WEFT_DASSERT((first_job_ == nullptr) == (last_job_ == nullptr),
                 "a queue has both ends or none");
    job.next = nullptr;
    if (last_job_)
        last_job_->next = &job;
    else
        first_job_ = &job;
    last_job_ = &job;
    ask_for_pump();
}

void Isolate::ask_for_pump() {
    if (std::exchange(pump_posted_, true)) return;
    static_cast<void>(options_.runtime->post(options_.worker, pump_record_));
}

void Isolate::pump() {
    WEFT_ASSERT(pump_posted_, "the pump runs once for each time it was posted");
    WEFT_ASSERT(!in_turn_, "jobs run between turns");
    pump_posted_ = false;
    std::int64_t begun = env::now_ns();
    while (Job* job = first_job_) {
        first_job_ = static_cast<Job*>(job->next);
        if (!first_job_) last_job_ = nullptr;
        job->act(*job);
        WEFT_DASSERT(!in_turn_, "a job ends the turn that it begins");
        if (env::now_ns() - begun >= kPumpNs) break;
    }
    if (first_job_) return ask_for_pump();
    after_jobs();
}

void Isolate::wait_for_end() {
    WEFT_DASSERT(is_on_owner_thread(), "a fiber of the owner's worker waits for the end");
    WEFT_ASSERT(!end_awaited_, "one fiber at a time waits for the end of an isolate");
    condemned_ = true;
    Waiter waiter(WaitReason::Job, this, Cancellable::No);
    ending_ = waiter.ref();
    end_awaited_ = true;
    // after_jobs() resumes this fiber, and it runs only after a job; there may be none waiting.
    post([] {});
    static_cast<void>(waiter.wait());
}

// Called when no job is left. If the isolate is idle, the promises that fibers wait for can never
// be settled, so those fibers are resumed with Closed.
void Isolate::after_jobs() {
    WEFT_DASSERT(!first_job_ && !in_turn_, "the jobs have run, and nothing else runs");
    if (is_finished() && on_finished) on_finished();
    if (!is_idle() && !condemned_) return;
    if (on_idle) on_idle();
    for (Awaiting* awaiting : std::exchange(awaiting_, {})) {
        awaiting->outcome =
            Error(ErrorKind::Closed, "nothing is pending that could settle the promise");
        if (awaiting->waiter.try_claim(Wake::Ready)) awaiting->waiter.resume();
    }
    if (tasks_ > 0 || first_job_ || !std::exchange(end_awaited_, false)) return;
    if (ending_.try_claim(Wake::Ready)) ending_.resume();
}

void Isolate::pending_until_settled(v8::Local<v8::Promise> promise) {
    WEFT_DASSERT(is_on_owner_thread(), "only the owner's thread runs JavaScript");
    if (promise->State() == v8::Promise::kPending) unsettled_.emplace_back(isolate_, promise);
}

bool Isolate::find_unsettled() const {
    WEFT_DASSERT(is_on_owner_thread(), "only the owner's thread looks at promises");
    v8::HandleScope handles(isolate_);
    std::erase_if(unsettled_, [this](const v8::Global<v8::Promise>& promise) {
        return promise.Get(isolate_)->State() != v8::Promise::kPending;
    });
    return !unsettled_.empty();
}

// ---------------------------------------------------------------- fibers that wait for a promise

void Isolate::expect_outcome(v8::Local<v8::Promise> promise) {
    WEFT_DASSERT(in_turn_, "rejections are reported at the end of a turn");
    promise->MarkAsHandled();
    std::erase_if(rejections_,
                  [&](const Rejection& rejection) { return rejection.promise == promise; });
}

Result<void> Isolate::await(v8::Global<v8::Promise> promise) {
    WEFT_DASSERT(is_on_owner_thread(), "a fiber of the owner's worker awaits a promise");
    WEFT_ASSERT(!promise.IsEmpty(), "there is a promise to wait for");
    Waiter waiter(WaitReason::Job, this, Cancellable::No);
    Awaiting awaiting{waiter.ref(), {}};
    post([&, kept = std::move(promise)] { attach(awaiting, kept); });
    static_cast<void>(waiter.wait());
    return std::move(awaiting.outcome);
}

void Isolate::attach(Awaiting& awaiting, const v8::Global<v8::Promise>& promise) {
    awaiting_.push_back(&awaiting);
    turn([&](v8::Local<v8::Context> context) {
        // A promise that is never settled outlives the fiber's frame, so the handlers hold the
        // frame's address only as a number, which they look up in awaiting_.
        v8::Local<v8::Value> word =
            v8::BigInt::NewFromUnsigned(isolate_, reinterpret_cast<std::uintptr_t>(&awaiting));
        v8::Local<v8::Function> fulfilled;
        v8::Local<v8::Function> rejected;
        v8::Local<v8::Value> both[] = {word, v8::True(isolate_)};
        v8::Local<v8::Array> failing = v8::Array::New(isolate_, both, 2);
        if (!v8::Function::New(context, on_settled, word).ToLocal(&fulfilled) ||
            !v8::Function::New(context, on_settled, failing).ToLocal(&rejected))
            return;
        seen_by_turn(promise.Get(isolate_)->Then(context, fulfilled, rejected));
    });
}

void Isolate::on_settled(const v8::FunctionCallbackInfo<v8::Value>& info) {
    v8::Isolate* engine = info.GetIsolate();
    Isolate& self = of(engine);
    v8::Local<v8::Value> word = info.Data();
    bool failed = word->IsArray();
    if (failed) word = word.As<v8::Array>()->Get(self.context(), 0).ToLocalChecked();
    WEFT_DASSERT(word->IsBigInt(), "attach() has stored an address");
    auto* awaiting = reinterpret_cast<Awaiting*>(
        static_cast<std::uintptr_t>(word.As<v8::BigInt>()->Uint64Value()));
    if (std::erase(self.awaiting_, awaiting) == 0) return;
    if (!failed) {
        if (awaiting->waiter.try_claim(Wake::Ready)) awaiting->waiter.resume();
        return;
    }
    // In a job, not in this call: V8 would report this callback's frame as the place of the error.
    self.post([awaiting, &self, reason = v8::Global<v8::Value>(engine, info[0])] {
        self.describe(*awaiting, reason);
        if (awaiting->waiter.try_claim(Wake::Ready)) awaiting->waiter.resume();
    });
}

// In a turn, because describing an error may call getters of the script.
void Isolate::describe(Awaiting& awaiting, const v8::Global<v8::Value>& reason) {
    std::string text;
    TurnEnd end = turn([&](v8::Local<v8::Context> context) {
        v8::Local<v8::Value> error = reason.Get(isolate_);
        text =
            describe_error(isolate_, context, error, v8::Exception::CreateMessage(isolate_, error));
    });
    if (end == TurnEnd::TooLong || text.empty())
        text = "an error whose description was ended by force";
    awaiting.outcome = Error(ErrorKind::Other, text);
}

void Isolate::task_ends() {
    WEFT_ASSERT(tasks_ > 0, "each task ends once");
    WEFT_DASSERT(is_on_owner_thread(), "the owner counts its tasks without a lock");
    --tasks_;
    ++counters_.tasks_settled;
}

// ---------------------------------------------------------------- turns

bool Isolate::is_on_owner_thread() const { return ::pthread_equal(owner_, ::pthread_self()) != 0; }

bool Isolate::is_on_own_stack() const {
    auto address = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return address >= stack_bottom_ && address < stack_top_;
}

void Isolate::enter() {
    WEFT_ASSERT(is_on_own_stack(), "JavaScript runs on its owner's own stack only");
    v8::Isolate* entered = v8::Isolate::TryGetCurrent();
    if (entered == isolate_) return;
    // Several isolates of one worker take turns. The one that ran last stays entered until another
    // one is.
    if (entered) entered->Exit();
    isolate_->Enter();
}

void Isolate::begin_turn() {
    WEFT_ASSERT(!in_turn_, "turns do not nest");
    WEFT_DASSERT(!microtask_limit_hit_, "the end of a turn clears what has terminated it");
    in_turn_ = true;
    ++counters_.turns;
    watched_->begin();
}

TurnEnd Isolate::end_turn(v8::Local<v8::Context> context, v8::TryCatch& caught) {
    WEFT_ASSERT(in_turn_, "a turn ends once");
    bool threw = caught.HasCaught();
    if (threw && !caught.HasTerminated()) report_uncaught(caught.Exception(), caught.Message());
    if (!caught.HasTerminated()) drain();
    if (!rejections_.empty() && !caught.HasTerminated()) report_rejections();
    bool too_long = watched_->end();
    bool too_many_microtasks = std::exchange(microtask_limit_hit_, false);
    in_turn_ = false;
    double request = 0;
    if (too_long)
        request = current_request();
    else if (too_many_microtasks)
        request = microtask_limit_request_;
    context->SetContinuationPreservedEmbedderData(v8::Undefined(isolate_));
    if (heap_full_) {
        if (!too_long) isolate_->CancelTerminateExecution();
        ++counters_.heap_full;
        condemned_ = true;
        rejections_.clear();
        if (options_.on_condemned) options_.on_condemned();
        return TurnEnd::HeapFull;
    }
    if (too_long || too_many_microtasks) {
        if (!too_long) isolate_->CancelTerminateExecution();
        ++(too_long ? counters_.too_long : counters_.microtask_limit);
        rejections_.clear();
        TurnEnd end = too_long ? TurnEnd::TooLong : TurnEnd::MicrotaskLimit;
        turn_was_ended(request, end);
        return end;
    }
    return threw ? TurnEnd::Threw : TurnEnd::Done;
}

void Isolate::turn_was_ended(double request, TurnEnd end) {
    repair();
    // A turn that does nothing itself drains the microtasks that repair() and the terminated turn
    // have left.
    post([this] { turn([](v8::Local<v8::Context>) {}); });
    if (options_.on_ended_by_force) options_.on_ended_by_force(request, end);
}

// V8 may terminate a turn at every call and in every loop, also in the prelude's own functions, and
// a terminated drain drops the microtasks that it has not run. So the state that the prelude keeps
// across requests is made consistent before the next turn uses it. The repair functions run no code
// of the application, so no limit applies to them.
void Isolate::repair() {
    v8::TryCatch caught(isolate_);
    for (std::string_view section : {"timers", "events", "serve"}) {
        v8::Local<v8::Value> hook;
        if (!hook_of(section, "repair").ToLocal(&hook)) continue;
        seen_by_turn(hook.As<v8::Function>()->Call(context(), v8::Undefined(isolate_), 0, nullptr));
    }
    WEFT_ASSERT(!caught.HasCaught(), "the prelude repairs itself");
}

bool Isolate::end_callback() {
    WEFT_DASSERT(in_turn_, "timers run in a turn");
    drain();
    watched_->renew();
    return env::now_ns() - timers_begun_ns_ >= kPumpNs;
}

void Isolate::drain() {
    WEFT_DASSERT(in_turn_, "microtasks run within a turn, whose limits hold for them");
    microtasks_ = 0;
    isolate_->PerformMicrotaskCheckpoint();
}

// V8 has no limit on the number of microtasks in a drain, so they are counted here: V8 calls this
// hook before each promise reaction, and all microtasks are promise reactions (queueMicrotask() of
// the prelude makes one, too). Terminating drops the microtasks that have not run yet.
void Isolate::on_promise(v8::PromiseHookType type, v8::Local<v8::Promise>, v8::Local<v8::Value>) {
    if (type != v8::PromiseHookType::kBefore) return;
    Isolate& self = of(v8::Isolate::GetCurrent());
    std::uint64_t limit = self.options_.limits.microtasks;
    if (++self.microtasks_ <= limit || self.microtask_limit_hit_) return;
    // The request must be read now: V8 forgets it when the microtask has ended. Microtasks that
    // adopt the state of another promise have none, so up to kMicrotasksBeyondLimitMax more may
    // run until one has.
    self.microtask_limit_request_ = self.current_request();
    if (self.microtask_limit_request_ == 0 && self.microtasks_ <= limit + kMicrotasksBeyondLimitMax)
        return;
    self.microtask_limit_hit_ = true;
    self.isolate_->TerminateExecution();
}

void Isolate::collect_garbage() {
    enter();
    isolate_->LowMemoryNotification();
}

// Any thread. The record owns itself, and the isolate may have ended when it runs.
void Isolate::post_platform_tasks() {
    struct Posted : Completion {
        std::weak_ptr<Isolate*> isolate;
    };
    auto posted = std::make_unique<Posted>();
    posted->isolate = self_;
    posted->run = [](Completion& record) {
        std::unique_ptr<Posted> own(static_cast<Posted*>(&record));
        if (auto isolate = own->isolate.lock()) (*isolate)->run_platform_tasks();
    };
    if (options_.runtime->post(options_.worker, *posted)) static_cast<void>(posted.release());
}

void Isolate::wake_inspector() {
    struct Posted : Completion {
        std::weak_ptr<Isolate*> isolate;
    };
    auto posted = std::make_unique<Posted>();
    posted->isolate = self_;
    posted->run = [](Completion& record) {
        std::unique_ptr<Posted> own(static_cast<Posted*>(&record));
        auto alive = own->isolate.lock();
        if (!alive) return;
        Isolate& self = **alive;
        // A condemned isolate may be destroyed by the next record of the loop, which does not wait
        // for jobs; so none is posted.
        if (self.condemned_) {
            if (self.inspector) self.inspector->dispatch_all();
            return;
        }
        self.post([&self] {
            if (!self.inspector) return;
            if (self.condemned_) return self.inspector->dispatch_all();
            self.turn([&](v8::Local<v8::Context>) { self.inspector->dispatch_all(); });
        });
    };
    if (options_.runtime->post(options_.worker, *posted)) static_cast<void>(posted.release());
}

// Runs V8's own tasks and the callbacks of finalization registries; they belong to no request.
void Isolate::run_platform_tasks() {
    if (condemned_ || in_turn_) return;
    Instant next = Instant::max();
    // In a turn, because these tasks may settle promises.
    turn([&](v8::Local<v8::Context>) { next = foreground_->run_due(Clock::now()); });
    if (next != Instant::max()) foreground_timer_.set(next);
    if (!first_job_) after_jobs();
}

std::size_t Isolate::on_near_heap_limit(void* self, std::size_t current, std::size_t) {
    auto& isolate = *static_cast<Isolate*>(self);
    // The first grant doubles the heap. V8 asks again from functions that do not check whether
    // they are to terminate, and then gets the least that lets it go on.
    std::size_t grant =
        isolate.heap_full_ ? kHeapGrantBytesMin : std::max(current, kHeapGrantBytesMin);
    isolate.heap_full_ = true;
    isolate.isolate_->TerminateExecution();
    std::size_t granted_max =
        std::max(kHeapGrantedBytesMax, 3 * isolate.options_.limits.heap_bytes);
    if (isolate.heap_granted_bytes_ + grant > granted_max) return current;
    isolate.heap_granted_bytes_ += grant;
    return current + grant;
}

// Limits the memory outside of the heap. V8 collects whenever that has grown by much, and knows
// its size afterwards. Memories of WebAssembly do not come from the allocator above, and V8 has no
// limit on the sum of them.
void Isolate::on_collected(v8::Isolate* engine, v8::GCType, v8::GCCallbackFlags, void* self) {
    auto& isolate = *static_cast<Isolate*>(self);
    std::int64_t outside = engine->AdjustAmountOfExternalAllocatedMemory(0);
    auto limit = static_cast<std::int64_t>(isolate.options_.limits.buffer_bytes) + kOutsideBytes;
    if (outside <= limit || isolate.heap_full_) return;
    isolate.heap_full_ = true;
    engine->TerminateExecution();
}

// ---------------------------------------------------------------- whose turn it is

double Isolate::current_request() const {
    WEFT_DASSERT(is_on_owner_thread(), "only the owner's thread runs JavaScript");
    v8::Local<v8::Context> here = context();
    v8::Local<v8::Value> continuation = here->GetContinuationPreservedEmbedderData();
    if (!continuation->IsObject()) return 0;
    v8::Local<v8::Value> request;
    if (!continuation.As<v8::Object>()->Get(here, request_name_.Get(isolate_)).ToLocal(&request))
        return 0;
    return request->IsNumber() ? request.As<v8::Number>()->Value() : 0;
}

v8::MaybeLocal<v8::Value> Isolate::hook_of(std::string_view section, std::string_view name) const {
    v8::Local<v8::Value> object;
    v8::Local<v8::Value> function;
    if (!realm()->Get(context(), to_v8(isolate_, section)).ToLocal(&object) ||
        !object->IsObject() ||
        !object.As<v8::Object>()->Get(context(), to_v8(isolate_, name)).ToLocal(&function) ||
        !function->IsFunction())
        return {};
    return function;
}

// ---------------------------------------------------------------- time

double Isolate::now_ms() const {
    return static_cast<double>(env::now_ns() - time_origin_ns_) / 1e6;
}

void Isolate::arm_timer(double deadline_ms) {
    WEFT_DASSERT(is_on_owner_thread(), "a timer belongs to the loop of its worker");
    timer_armed_ = deadline_ms < 1e300;
    if (!timer_armed_) return timer_.cancel();
    auto deadline_ns = static_cast<std::int64_t>(std::min(deadline_ms, 1e15) * 1e6);
    timer_.set(Instant(Nanoseconds(time_origin_ns_ + deadline_ns)));
}

void Isolate::run_timers() {
    timer_.begin_run();
    timer_armed_ = false;
    if (condemned_) return;
    timers_begun_ns_ = env::now_ns();
    turn([&](v8::Local<v8::Context> context) {
        if (run_due_timers_.IsEmpty()) {
            v8::Local<v8::Value> function;
            bool found = hook_of("timers", "runDue").ToLocal(&function);
            WEFT_ASSERT(found, "the prelude has timers.runDue");
            run_due_timers_.Reset(isolate_, function.As<v8::Function>());
        }
        v8::Local<v8::Value> now = v8::Number::New(isolate_, now_ms());
        seen_by_turn(
            run_due_timers_.Get(isolate_)->Call(context, v8::Undefined(isolate_), 1, &now));
    });
    if (!first_job_) after_jobs();
}

// ---------------------------------------------------------------- what nobody caught

void Isolate::on_rejection(v8::PromiseRejectMessage message) {
    switch (message.GetEvent()) {
    case v8::kPromiseRejectWithNoHandler:
        rejections_.push_back({v8::Global<v8::Promise>(isolate_, message.GetPromise()),
                               v8::Global<v8::Value>(isolate_, message.GetValue())});
        break;
    case v8::kPromiseHandlerAddedAfterReject:
        std::erase_if(rejections_, [&](const Rejection& rejection) {
            return rejection.promise == message.GetPromise();
        });
        break;
    default: break;
    }
}

// The prelude's hook dispatches `unhandledrejection` and returns true if a listener prevented the
// default; otherwise the rejection is reported as uncaught.
void Isolate::report_rejections() {
    std::vector<Rejection> rejections = std::exchange(rejections_, {});
    v8::Local<v8::Context> context = this->context();
    v8::Local<v8::Value> hook;
    bool hooked = hook_of("events", "unhandledRejection").ToLocal(&hook);
    for (const Rejection& rejection : rejections) {
        v8::TryCatch caught(isolate_);
        v8::Local<v8::Value> reason = rejection.reason.Get(isolate_);
        if (hooked) {
            v8::Local<v8::Value> arguments[] = {rejection.promise.Get(isolate_), reason};
            v8::Local<v8::Value> handled;
            bool called = hook.As<v8::Function>()
                              ->Call(context, v8::Undefined(isolate_), 2, arguments)
                              .ToLocal(&handled);
            if (caught.HasTerminated()) return;
            if (called && handled->IsTrue()) continue;
        }
        report_uncaught(reason, v8::Exception::CreateMessage(isolate_, reason));
    }
}

void Isolate::report_uncaught(v8::Local<v8::Value> error, v8::Local<v8::Message> message) {
    ++counters_.uncaught;
    if (inspector) inspector->tell_uncaught(error, message);
    std::string text = describe_error(isolate_, context(), error, message);
    if (options_.on_uncaught)
        options_.on_uncaught(text);
    else
        log(LogLevel::Error, "uncaught: {}", text);
}

Isolate& Call::isolate() const { return Isolate::of(v8()); }

}  // namespace weft::js
