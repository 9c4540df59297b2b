#include "weft/api/application/application.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "weft/api/bindings.h"
#include "weft/api/data/data_store.h"
#include "weft/api/fetch/fetch_client.h"
#include "weft/api/test/test_run.h"
#include "weft/api/websocket/sockets.h"
#include "weft/api/weft_http/file_store.h"
#include "weft/async/scope.h"
#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/base/on_end.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/runtime.h"
#include "weft/js/describe.h"
#include "weft/js/modules.h"

namespace weft::api {
namespace {

constexpr std::size_t kHeapBytes = std::size_t{256} * 1024 * 1024;
// Slots of the V8 isolate for its ServerCalls and its Sockets; slot 1 holds the application.
constexpr std::uint32_t kCallsSlot = 2;
constexpr std::uint32_t kSocketsSlot = 3;
// How long a supervised process lets a turn run that V8 cannot interrupt, at least.
constexpr std::chrono::seconds kPatienceMin{2};
// Pauses between attempts to replace an isolate whose modules do not load.
constexpr std::chrono::milliseconds kReplacePauseMin{20};
constexpr std::chrono::milliseconds kReplacePauseMax{5'000};
// Time limit while a debugger may be used: a person who reads and steps needs any amount of time.
constexpr std::chrono::hours kWithoutLimit{24 * 365};

v8::Local<v8::Object> to_object(v8::Isolate* isolate, v8::Local<v8::Context> context,
                                const std::vector<std::pair<std::string, std::string>>& pairs) {
    v8::Local<v8::Object> object = v8::Object::New(isolate);
    for (const auto& [name, value] : pairs)
        js::seen_by_turn(object->Set(context, js::to_v8(isolate, name), js::to_v8(isolate, value)));
    return object;
}

// Written directly: a log line has no room for a code frame and a stack.
void write_uncaught(std::string_view where, std::uint64_t count, std::string_view text) {
    if (!log_enabled(LogLevel::Error)) return;
    std::string lines = format("weft: error: {}: uncaught error, number {}\n", where, count);
    lines += text;
    lines += '\n';
    std::fwrite(lines.data(), 1, lines.size(), stderr);
}

}  // namespace

ServerCalls& calls_of(js::Call& call) {
    return *static_cast<ServerCalls*>(call.v8()->GetData(kCallsSlot));
}

Sockets& sockets_of(js::Call& call) {
    return *static_cast<Sockets*>(call.v8()->GetData(kSocketsSlot));
}

JsApplication::Instance::Instance() = default;
JsApplication::Instance::~Instance() = default;

JsApplication::JsApplication(Runtime& runtime, js::Watchdog& watchdog, ApplicationOptions options)
    : runtime_(runtime),
      watchdog_(watchdog),
      options_(std::move(options)),
      console_(options_.is_script ? ConsoleOutput::WhenStuck::Wait
                                  : ConsoleOutput::WhenStuck::Drop),
      code_store_(options_.code_folder) {
    if (options_.limits.heap_bytes == 0) options_.limits.heap_bytes = kHeapBytes;
    if (options_.debug == ApplicationOptions::Debug::No) return;
    options_.limits.handler_deadline = kWithoutLimit;
    options_.limits.cpu = kWithoutLimit;
    options_.limits.wait_until = kWithoutLimit;
    waits_for_client_ = options_.debug == ApplicationOptions::Debug::WaitsForClient;
    door_ = std::make_shared<JsDebugDoor>();
}

Result<std::unique_ptr<JsApplication>> JsApplication::create(Runtime& runtime,
                                                             js::Watchdog& watchdog,
                                                             ApplicationOptions options) {
    std::unique_ptr<JsApplication> made(
        // tidy: allow new: its constructor is private
        new JsApplication(runtime, watchdog, std::move(options)));
    for (const std::string& rule : made->options_.allow_fetch) WEFT_TRY(made->egress_.allow(rule));
    made->fetch_client_ =
        std::make_unique<FetchClient>(made->egress_, made->options_.limits.heap_bytes);
    made->data_store_ = std::make_unique<DataStore>(made->options_);
    made->file_store_ = std::make_unique<FileStore>();
    WEFT_TRY(made->open_scope());
    // Runs while the isolate is made, which takes longer.
    if (made->code_store_.is_used())
        made->code_store_prepared_ = spawn(
            [] { static_cast<void>(blocking(DiskCodeStore::prepare)); }, {.name = "code cache"});
    made->instance_ = WEFT_TRY(made->make_instance());
    if (made->door_) made->door_->open(*made->instance_->inspector);
    return made;
}

JsApplication::~JsApplication() { WEFT_ASSERT(closed_ || !instance_, "an application is closed"); }

// What the application starts outside of requests belongs to this scope, and ends with it.
Result<void> JsApplication::open_scope() {
    // Its owners are this function and the fiber. It is set when the fiber starts or ends; without
    // memory for a stack the fiber ends before it has started.
    auto ready = std::make_shared<Event>();
    scope_ = spawn(
        [this, ready, on_end = OnEnd([ready] { ready->set(); })]() -> Result<void> {
            return async::run_scope(async::ScopeKind::App, [&](async::Scope& scope) {
                scope_token_ = scope.context().token();
                ready->set();
                while (!closed_ && wake_.wait()) {
                    wake_.reset();
                    if (!closed_ && instance_->isolate->is_condemned()) replace();
                }
            });
        },
        {.name = "application"});
    WEFT_TRY(ready->wait());
    // The fiber got no memory, so there is no scope.
    if (!scope_token_.state()) return scope_.join();
    return {};
}

// Runs the function in the worker's loop and waits for its end.
template <class Function>
void JsApplication::in_loop(Function function) {
    struct Record : Completion {
        explicit Record(Function& function_in) : function(function_in) {}
        Function& function;
        WaitRef waiter;
    };
    Waiter waiter(WaitReason::Job, this, Cancellable::No);
    Record record(function);
    record.waiter = waiter.ref();
    record.run = [](Completion& completion) {
        auto& self = static_cast<Record&>(completion);
        self.function();
        // The record may be destroyed as soon as its fiber runs, so the reference is copied first.
        WaitRef waiting = self.waiter;
        if (waiting.try_claim(Wake::Ready)) waiting.resume();
    };
    Result<void> posted = runtime_.post(options_.worker, record);
    WEFT_ASSERT(posted.has_value(), "the runtime outlives its applications");
    static_cast<void>(waiter.wait());
}

Result<std::unique_ptr<JsApplication::Instance>> JsApplication::make_instance() {
    auto instance = std::make_unique<Instance>();
    Result<void> made;
    in_loop([&]() {
        js::IsolateOptions options;
        options.runtime = &runtime_;
        options.worker = options_.worker;
        options.watchdog = &watchdog_;
        options.bindings = bindings();
        options.snapshot = snapshot();
        options.prelude = prelude();
        options.limits.turn_cpu = options_.limits.cpu;
        options.limits.microtasks = options_.limits.microtasks;
        if (options_.is_supervised)
            options.limits.overrun_max =
                std::max<Nanoseconds>(kPatienceMin, 4 * options_.limits.cpu);
        options.limits.heap_bytes = options_.limits.heap_bytes;
        options.limits.buffer_bytes = options_.limits.heap_bytes;
        options.on_uncaught = [this, made = instance.get()](std::string_view text) {
            ++counters_.uncaught;
            if (on_uncaught_) return on_uncaught_(text);
            write_uncaught(whereabouts(*made), counters_.uncaught, text);
        };
        options.describe_running = [this, made = instance.get()] { return whereabouts(*made); };
        options.on_ended_by_force = [this, made = instance.get()](double request, js::TurnEnd end) {
            if (!test_run_) return made->calls->terminated(request, end);
            if (request != 0) test_run_->ended(request, end);
        };
        options.on_long_turn = options_.on_long_turn;
        options.on_condemned = [this] { on_heap_full(); };
        Result<std::unique_ptr<js::Isolate>> isolate = js::Isolate::create(std::move(options));
        if (!isolate) {
            made = isolate.error();
            return;
        }
        instance->isolate = std::move(*isolate);
        instance->isolate->modules().disk().on_seen = options_.on_files;
        instance->isolate->modules().default_referrer = options_.entry;
        if (code_store_.is_used()) instance->isolate->modules().code().use(&code_store_);
        instance->tasks.emplace(scope_token_);
        instance->isolate->v8()->SetData(1, this);
        instance->sockets = std::make_unique<Sockets>(egress_);
        instance->isolate->v8()->SetData(kSocketsSlot, instance->sockets.get());
        instance->calls =
            std::make_unique<ServerCalls>(*instance->isolate, *fetch_client_, options_.limits,
                                          counters_, instance->tasks->token());
        instance->isolate->v8()->SetData(kCallsSlot, instance->calls.get());
        instance->isolate->find_token = [this, calls = instance->calls.get()](double number) {
            return test_run_ && number != 0 ? test_run_->token_of(number) : calls->token_of(number);
        };
        instance->isolate->on_idle = [calls = instance->calls.get()] { calls->on_idle(); };
        instance->isolate->on_finished = [this] {
            if (idle_) idle_->set();
        };
        if (door_) open_to_clients(*instance);
    });
    WEFT_TRY(made);
    return instance;
}

void JsApplication::on_heap_full() {
    // Neither tests nor a script may run a second time in another isolate.
    if (test_run_) return test_run_->end(Error(ErrorKind::OutOfMemory, "the heap is full"));
    if (!options_.is_script) return wake_.set();
    if (instance_ && instance_->inspector) instance_->inspector->tell_crashed();
    if (on_uncaught_) on_uncaught_("the heap is full");
}

std::string JsApplication::whereabouts(const Instance& instance) const {
    if (!instance.calls) return options_.name;
    std::string request = instance.calls->describe(instance.isolate->current_request());
    return request.empty() ? options_.name : format("{}: {}", options_.name, request);
}

Result<void> JsApplication::use_import_map() { return use_import_map(*instance_); }

Result<void> JsApplication::use_import_map(Instance& instance) {
    if (options_.import_map.empty()) return {};
    js::DiskFiles files;
    std::string text = WEFT_TRY(files.read(options_.import_map));
    js::ModuleResult<js::ImportMap> map = js::ImportMap::parse(text, options_.import_map);
    if (!map) return Error(ErrorKind::Other, map.error().text());
    in_loop([&] { instance.isolate->modules().set_import_map(std::move(*map)); });
    return {};
}

Result<void> JsApplication::load() {
    WEFT_TRY(load_into(*instance_));
    return {};
}

Result<void> JsApplication::compile() {
    WEFT_TRY(use_import_map());
    return instance_->isolate->modules().compile_entry(options_.entry);
}

Result<void> JsApplication::load_into(Instance& instance) {
    if (std::exchange(waits_for_client_, false)) WEFT_TRY(wait_for_client(instance));
    if (!options_.location.empty()) WEFT_TRY(set_location(instance));
    WEFT_TRY(use_import_map(instance));
    js::Modules& modules = instance.isolate->modules();
    if (!options_.text.empty())
        WEFT_TRY(modules.load_text(options_.text, options_.entry));
    else
        WEFT_TRY(modules.load_entry(options_.entry));
    in_loop([&] { install_handler(instance); });
    return {};
}

// Called before any code of the user has run.
Result<void> JsApplication::wait_for_client(Instance& instance) {
    Event decided;
    bool goes = false;
    auto on_go = [&](bool go) {
        goes = go;
        decided.set();
    };
    in_loop([&] { instance.inspector->wait_for_client(on_go); });
    Result<void> waited = decided.wait();
    in_loop([&] { instance.inspector->wait_for_client({}); });
    WEFT_TRY(waited);
    if (goes) return {};
    return Error(ErrorKind::Cancelled, "it was to wait for a debugger, and none can come any more");
}

Result<void> JsApplication::set_location(Instance& instance) {
    js::Isolate& isolate = *instance.isolate;
    bool is_set = false;
    in_loop([&] {
        isolate.turn([&](v8::Local<v8::Context> context) {
            v8::Local<v8::Value> set;
            v8::Local<v8::Value> done;
            if (!isolate.hook_of("location", "set").ToLocal(&set)) return;
            v8::Local<v8::Value> href = js::to_v8(isolate.v8(), options_.location);
            is_set = set.As<v8::Function>()
                         ->Call(context, v8::Undefined(isolate.v8()), 1, &href)
                         .ToLocal(&done) &&
                     done->IsTrue();
        });
    });
    if (is_set) return {};
    return Error(ErrorKind::Other, format("{} is no URL for a location", options_.location));
}

void JsApplication::install_handler(Instance& instance) {
    js::Isolate& isolate = *instance.isolate;
    routes_ = {};
    isolate.turn([&](v8::Local<v8::Context> context) {
        v8::Isolate* engine = isolate.v8();
        v8::Local<v8::Value> install;
        v8::Local<v8::Value> exported;
        if (!isolate.hook_of("serve", "install").ToLocal(&install) ||
            !isolate.modules()
                 .entry()
                 ->Get(context, js::to_v8(engine, "default"))
                 .ToLocal(&exported))
            return;
        v8::Local<v8::Value> arguments[] = {exported, to_object(engine, context, options_.env)};
        v8::Local<v8::Value> installed;
        if (install.As<v8::Function>()
                ->Call(context, v8::Undefined(engine), 2, arguments)
                .ToLocal(&installed))
            has_handler_ = installed->IsTrue();
    });
}

Result<void> JsApplication::run_to_end() {
    Event idle;
    std::string failure;
    WEFT_ASSERT(!idle_, "one run_to_end() at a time");
    idle_ = &idle;
    on_uncaught_ = [&](std::string_view text) {
        if (failure.empty()) failure = text;
        idle.set();
    };
    // `beforeExit` is emitted again each time its listeners have started something to wait for.
    Result<void> waited;
    bool goes_on = true;
    while (goes_on) {
        idle.reset();
        instance_->isolate->post([] {});
        waited = idle.wait();
        if (!waited || !failure.empty()) break;
        emit_process_event("beforeExit", 0);
        goes_on = failure.empty() && !instance_->isolate->is_finished();
    }
    idle_ = nullptr;
    on_uncaught_ = {};
    WEFT_TRY(waited);
    if (!failure.empty()) return Error(ErrorKind::Other, failure);
    return {};
}

int JsApplication::end_with(int status) {
    return instance_->isolate->is_condemned() ? status : emit_process_event("exit", status);
}

// Emits the event and returns the status with which the process is to end.
int JsApplication::emit_process_event(const char* hook, int status) {
    js::Isolate& isolate = *instance_->isolate;
    in_loop([&] {
        isolate.turn([&](v8::Local<v8::Context> context) {
            v8::Local<v8::Value> tell;
            v8::Local<v8::Value> told;
            v8::Local<v8::Value> argument = v8::Integer::New(isolate.v8(), status);
            if (!isolate.hook_of("node", hook).ToLocal(&tell)) return;
            if (tell.As<v8::Function>()
                    ->Call(context, v8::Undefined(isolate.v8()), 1, &argument)
                    .ToLocal(&told) &&
                told->IsInt32())
                status = told.As<v8::Int32>()->Value();
        });
    });
    return status;
}

void JsApplication::keep_code() {
    if (!instance_->isolate->is_condemned()) instance_->isolate->modules().code().keep();
}

// The work is a task of the isolate, which ends with it.
void JsApplication::begin_keeping_code() {
    if (closed_ || !code_store_.is_used()) return;
    in_loop([&] {
        if (closed_) return;
        js::Isolate& isolate = *instance_->isolate;
        isolate.turn([&](v8::Local<v8::Context>) { isolate.modules().code().begin_keeping(); });
    });
}

http::LoopOutcome JsApplication::begin(http::Request& request, http::LoopCall& call) {
    // The isolate is being replaced: a fiber can wait for the next one.
    if (instance_->isolate->is_condemned()) return http::ByFiber{};
    return instance_->calls->begin(request, call);
}

Result<http::Response> JsApplication::handle(http::Request& request, async::Context& context) {
    while (!closed_ && instance_->isolate->is_condemned()) {
        Result<void> waited = replaced_.wait_for(options_.limits.handler_deadline);
        if (!waited && waited.error().kind() == ErrorKind::TimedOut) break;
        WEFT_TRY(waited);
    }
    if (closed_) return Error(ErrorKind::Closed, "the application is closing");
    return instance_->calls->handle(request, context);
}

// ---------------------------------------------------------------- ends

// Runs on the application's own fiber, after the turn that filled the heap. Requests that arrive
// before the next isolate is ready wait for it.
void JsApplication::replace() {
    ++counters_.replaced;
    log(LogLevel::Error, "{}: the heap is full: the isolate is replaced", options_.name);
    in_loop([&] {
        instance_->calls->fail_all(CallFailure::HeapLimit);
        if (instance_->inspector) instance_->inspector->tell_crashed();
        end_clients(*instance_);
    });
    replaced_.reset();
    std::unique_ptr<Instance> fresh;
    for (auto pause = kReplacePauseMin; !closed_ && !fresh;
         pause = std::min(2 * pause, kReplacePauseMax)) {
        fresh = make_next_instance();
        if (!fresh && !closed_) static_cast<void>(wake_.wait_for(pause));
    }
    if (!fresh) return;
    if (drains_) fresh->calls->drain_from_now();
    std::unique_ptr<Instance> old = std::exchange(instance_, std::move(fresh));
    if (door_) door_->open(*instance_->inspector);
    replaced_.set();
    no_requests_.set();
    end_instance(std::move(old), CallFailure::HeapLimit);
}

// Returns null if no isolate could be made; the reason was logged.
std::unique_ptr<JsApplication::Instance> JsApplication::make_next_instance() {
    Result<std::unique_ptr<Instance>> fresh = make_instance();
    Result<void> loaded;
    if (fresh) {
        WEFT_ASSERT(!loading_, "the application's own fiber makes one replacement at a time");
        loading_ = fresh->get();
        loaded = load_into(**fresh);
        loading_ = nullptr;
        if (loaded && !closed_ && !(*fresh)->isolate->is_condemned()) return std::move(*fresh);
        end_instance(std::move(*fresh), CallFailure::HeapLimit);
    } else {
        loaded = fresh.error();
    }
    if (!loaded && !closed_)
        log(LogLevel::Error, "{}: no new isolate: {}", options_.name, loaded.error().message());
    return nullptr;
}

void JsApplication::end_instance(std::unique_ptr<Instance> instance, CallFailure failure) {
    in_loop([&] {
        instance->sockets->forget_script();
        instance->calls->fail_all(failure);
    });
    instance->isolate->condemn();
    instance->tasks->cancel();
    instance->isolate->wait_for_end();
    in_loop([&] {
        end_clients(*instance);
        instance->inspector.reset();
        instance->calls.reset();
        instance->sockets.reset();
        js::Isolate::dispose(std::move(instance->isolate));
    });
}

void JsApplication::drain() {
    if (closed_) return;
    drains_ = true;
    in_loop([&] {
        if (!closed_) instance_->calls->drain();
    });
    if (closed_) return;
    // Posted after the notice of the drain, so that a script can close its sockets with a reason of
    // its own first.
    instance_->isolate->post([sockets = instance_->sockets.get()] { sockets->go_away(); });
}

void JsApplication::close() {
    if (std::exchange(closed_, true)) return;
    if (instance_) in_loop([&] { instance_->calls->fail_all(CallFailure::Closed); });
    fetch_client_->close();
    if (loading_) {
        // Ends the wait for its modules.
        loading_->isolate->condemn();
        loading_->isolate->post([] {});
    }
    wake_.set();
    replaced_.set();
    static_cast<void>(scope_.join());
    if (code_store_prepared_) static_cast<void>(code_store_prepared_.join());
    // All tasks have ended, so nothing uses the databases any more.
    data_store_->close();
    if (!instance_) return;
    end_instance(std::exchange(instance_, nullptr), CallFailure::Closed);
    in_loop([] {});
}

Result<void> JsApplication::close_when_idle() {
    // WebSockets do not end by themselves; their clients can connect again to another server.
    if (instance_)
        instance_->isolate->post([sockets = instance_->sockets.get()] { sockets->go_away(); });
    // Repeated, because the isolate may be replaced during the wait, together with its requests.
    Result<void> waited;
    while (waited && instance_ && !closed_ && !instance_->calls->is_empty()) {
        no_requests_.reset();
        instance_->calls->on_empty = [this] { no_requests_.set(); };
        waited = no_requests_.wait();
    }
    shield(Deadline::never(), [this] { close(); });
    return waited;
}

ApplicationCounters JsApplication::counters() const {
    ApplicationCounters counters = counters_;
    if (instance_) {
        counters.too_long += instance_->isolate->counters().too_long;
        counters.flooded += instance_->isolate->counters().microtask_limit;
        counters.late += instance_->isolate->counters().late;
        counters.in_flight = instance_->calls->in_flight();
    }
    return counters;
}

std::vector<SeenFile> JsApplication::files() { return instance_->isolate->modules().disk().seen(); }

// ---------------------------------------------------------------- the entry point

namespace {

class JsHost final : public Host {
public:
    explicit JsHost(Runtime& runtime) : runtime_(runtime) {}

    Result<std::unique_ptr<Application>> open(ApplicationOptions options) override {
        return std::unique_ptr<Application>(
            WEFT_TRY(JsApplication::create(runtime_, watchdog_, std::move(options))));
    }
    std::string_view engine() const override {
        static const std::string name = std::string("V8 ") + v8::V8::GetVersion();
        return name;
    }

private:
    Runtime& runtime_;
    js::Watchdog watchdog_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] void weft_open_host(Runtime& runtime,
                                                              std::unique_ptr<Host>& host);

void weft_open_host(Runtime& runtime, std::unique_ptr<Host>& host) {
    host = std::make_unique<JsHost>(runtime);
}

}  // namespace weft::api
