#include "tests/journeys/js_seam/engine.h"

#include <libplatform/libplatform.h>
#include <pthread.h>
#include <v8.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "tests/journeys/js_seam/watchdog.h"
#include "weft/async/pending.h"
#include "weft/async/scope.h"
#include "weft/base/assert.h"
#include "weft/base/ticket.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/waiter.h"

namespace weft::journeys {
namespace {

constexpr std::size_t kRequestsMax = 16 * 1024;
constexpr std::size_t kPromisesMax = 64 * 1024;
// What V8's own functions may need below the limit that it checks.
constexpr std::size_t kStackReserveBytes = 256 * 1024;

// The request of respond() and fail() is the one that V8 has kept with the continuation.
constexpr const char* kTrampoline = R"(
(function (path) {
    const answer = handle(path);
    if (answer instanceof Promise) answer.then(respond, (reason) => fail(String(reason)));
    else respond(answer);
})
)";

// V8 can be begun once in a process; it has no end.
v8::Platform& platform() {
    static const std::unique_ptr<v8::Platform> platform = [] {
        std::unique_ptr<v8::Platform> made = v8::platform::NewDefaultPlatform(1);
        v8::V8::InitializePlatform(made.get());
        v8::V8::Initialize();
        return made;
    }();
    return *platform;
}

struct OwnStack {
    static OwnStack of_this_thread() {
        pthread_attr_t attributes;
        void* bottom = nullptr;
        std::size_t size = 0;
        int error = ::pthread_getattr_np(::pthread_self(), &attributes);
        WEFT_ASSERT(error == 0, "a thread knows its stack");
        ::pthread_attr_getstack(&attributes, &bottom, &size);
        ::pthread_attr_destroy(&attributes);
        auto address = reinterpret_cast<std::uintptr_t>(bottom);
        return OwnStack{::pthread_self(), address, address + size};
    }
    bool is_here() const {
        auto address = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        return ::pthread_self() == thread && address >= bottom && address < top;
    }

    pthread_t thread{};
    std::uintptr_t bottom = 0;
    std::uintptr_t top = 0;
};

struct OpenRequest {
    async::Scope* scope;
    async::Completer<std::string> completer;
    std::vector<Ticket> promises;  // open ones
};

struct OpenPromise {
    v8::Global<v8::Promise::Resolver> resolver;
    Ticket request;
};

class V8Engine final : public Engine {
public:
    explicit V8Engine(EngineOptions options) : options_(std::move(options)) {}

    void open() {
        on_loop([&] { make_isolate(); });
    }
    void close() override {
        on_loop([&] { dispose_isolate(); });
    }
    Result<void> load(std::string_view source) override;
    Result<std::string> call(std::string_view path, const async::Context& context) override;
    EngineCounters counters() const override;

private:
    using Arguments = v8::FunctionCallbackInfo<v8::Value>;
    struct Binding {
        V8Engine* engine;
        Operation* operation;
    };

    // Runs in the worker's loop some time later; the record owns itself and the function.
    template <class Function>
    void post(Function function);
    // The same, and waits for it.
    template <class Function>
    void on_loop(Function function);

    // All that follows: in the loop.
    void make_isolate();
    void dispose_isolate();
    Result<void> run_script(std::string_view source);
    // Enters JavaScript for a request, calls body(context), and drains the microtasks.
    template <class Body>
    void enter(Ticket request, Body body);
    void run_platform_tasks();
    void dispatch(Ticket request, std::string_view path);
    void settle(Ticket promise, const Result<std::string>& outcome);
    void retire(const std::vector<Ticket>& promises);
    void answer(Ticket request, Result<std::string> outcome);

    v8::Local<v8::Context> make_context();
    void bind(v8::Local<v8::ObjectTemplate> globals, const char* name,
              v8::FunctionCallback callback, void* target);
    Ticket current_request();
    std::string text_of(v8::Local<v8::Value> value);
    v8::Local<v8::String> to_js(std::string_view text);
    void finish(v8::Local<v8::Context> context, v8::Local<v8::Promise::Resolver> resolver,
                const Result<std::string>& outcome);
    Error to_error(const v8::TryCatch& caught);
    Result<void> start(const Operation& operation, std::string argument, Ticket request,
                       Ticket promise);

    static void on_respond(const Arguments& arguments);
    static void on_fail(const Arguments& arguments);
    static void on_request(const Arguments& arguments);
    static void on_operation(const Arguments& arguments);

    EngineOptions options_;
    OwnStack stack_;
    std::unique_ptr<v8::ArrayBuffer::Allocator> buffers_;
    v8::Isolate* isolate_ = nullptr;
    v8::Global<v8::Context> context_;
    v8::Global<v8::Function> trampoline_;
    std::optional<Watchdog> watchdog_;
    std::vector<Binding> bindings_;
    // Touched by the worker's fibers and in its loop, which take turns on one thread.
    TicketTable<OpenRequest> requests_{kRequestsMax};
    TicketTable<OpenPromise> promises_{kPromisesMax};
    EngineCounters counters_;
};

template <class Function>
void V8Engine::post(Function function) {
    struct Record : Completion {
        explicit Record(Function&& function_in) : function(std::move(function_in)) {}
        Function function;
    };
    auto record = std::make_unique<Record>(std::move(function));
    record->run = [](Completion& completion) {
        std::unique_ptr<Record> self(static_cast<Record*>(&completion));
        self->function();
    };
    Result<void> posted = options_.runtime->post(options_.worker, *record);
    WEFT_ASSERT(posted.has_value(), "the runtime outlives the engine");
    static_cast<void>(record.release());  // the inbox's until it runs
}

template <class Function>
void V8Engine::on_loop(Function function) {
    Waiter waiter(WaitReason::Job, this, Cancellable::No);
    post([&, waiting = waiter.ref()] {
        function();
        if (waiting.try_claim(Wake::Ready)) waiting.resume();
    });
    static_cast<void>(waiter.wait());
}

// ---------------------------------------------------------------- on fibers

Result<void> V8Engine::load(std::string_view source) {
    Result<void> outcome;
    on_loop([&] { outcome = run_script(source); });
    return outcome;
}

Result<std::string> V8Engine::call(std::string_view path, const async::Context& context) {
    return async::run_scope(
        async::ScopeKind::Request, context, [&](async::Scope& scope) -> Result<std::string> {
            async::Pending<std::string> answer(scope);
            Ticket ticket = WEFT_TRY(requests_.insert(OpenRequest{&scope, answer.completer(), {}}));
            post([this, ticket, path = std::string(path)] { dispatch(ticket, path); });
            Result<std::string> outcome = answer.wait();
            // From now on nothing finds the scope; what comes later is stale.
            std::optional<OpenRequest> over = requests_.take(ticket);
            if (!over->promises.empty())
                post([this, open = std::move(over->promises)] { retire(open); });
            return outcome;
        });
}

EngineCounters V8Engine::counters() const {
    EngineCounters counters = counters_;
    counters.open_requests = requests_.size();
    counters.open_promises = promises_.size();
    return counters;
}

// ---------------------------------------------------------------- in the loop

void V8Engine::make_isolate() {
    stack_ = OwnStack::of_this_thread();
    platform();
    buffers_.reset(v8::ArrayBuffer::Allocator::NewDefaultAllocator());
    v8::Isolate::CreateParams parameters;
    parameters.array_buffer_allocator = buffers_.get();
    isolate_ = v8::Isolate::New(parameters);
    isolate_->SetMicrotasksPolicy(v8::MicrotasksPolicy::kExplicit);
    isolate_->SetStackLimit(stack_.bottom + kStackReserveBytes);
    v8::Isolate::Scope isolate_scope(isolate_);
    v8::HandleScope handles(isolate_);
    v8::Local<v8::Context> context = make_context();
    v8::Context::Scope context_scope(context);
    context_.Reset(isolate_, context);
    v8::Local<v8::Value> trampoline = v8::Script::Compile(context, to_js(kTrampoline))
                                          .ToLocalChecked()
                                          ->Run(context)
                                          .ToLocalChecked();
    trampoline_.Reset(isolate_, trampoline.As<v8::Function>());
    watchdog_.emplace(*isolate_, options_.dispatch_time);
}

void V8Engine::dispose_isolate() {
    WEFT_ASSERT(requests_.size() == 0 && promises_.size() == 0, "an engine ends when it is idle");
    watchdog_.reset();
    trampoline_.Reset();
    context_.Reset();
    isolate_->Dispose();
}

v8::Local<v8::Context> V8Engine::make_context() {
    v8::Local<v8::ObjectTemplate> globals = v8::ObjectTemplate::New(isolate_);
    bind(globals, "respond", on_respond, this);
    bind(globals, "fail", on_fail, this);
    bind(globals, "request", on_request, this);
    bindings_.reserve(options_.operations.size());
    for (Operation& operation : options_.operations) {
        bindings_.push_back(Binding{this, &operation});
        bind(globals, operation.name.c_str(), on_operation, &bindings_.back());
    }
    return v8::Context::New(isolate_, nullptr, globals);
}

void V8Engine::bind(v8::Local<v8::ObjectTemplate> globals, const char* name,
                    v8::FunctionCallback callback, void* target) {
    globals->Set(
        isolate_, name,
        v8::FunctionTemplate::New(isolate_, callback, v8::External::New(isolate_, target)));
}

Result<void> V8Engine::run_script(std::string_view source) {
    Result<void> outcome;
    enter(Ticket(), [&](v8::Local<v8::Context> context) {
        v8::TryCatch caught(isolate_);
        v8::Local<v8::Script> script;
        if (!v8::Script::Compile(context, to_js(source)).ToLocal(&script) ||
            script->Run(context).IsEmpty())
            outcome = to_error(caught);
    });
    return outcome;
}

template <class Body>
void V8Engine::enter(Ticket request, Body body) {
    WEFT_ASSERT(stack_.is_here(), "JavaScript runs on its owner's own stack only");
    ++counters_.dispatches;
    v8::Isolate::Scope isolate_scope(isolate_);
    v8::HandleScope handles(isolate_);
    v8::Local<v8::Context> context = context_.Get(isolate_);
    v8::Context::Scope context_scope(context);
    v8::TryCatch caught(isolate_);
    watchdog_->begin();
    context->SetContinuationPreservedEmbedderData(
        v8::BigInt::NewFromUnsigned(isolate_, request.as_u64()));
    body(context);
    if (!caught.HasTerminated()) isolate_->PerformMicrotaskCheckpoint();
    std::optional<Error> thrown;
    // Before the watchdog leaves: to make a text of it may run the script's own toString().
    if (caught.HasCaught() && !caught.HasTerminated()) thrown = to_error(caught);
    bool terminated = watchdog_->end();
    context->SetContinuationPreservedEmbedderData(v8::Undefined(isolate_));
    if (terminated) {
        ++counters_.terminated;
        answer(request, Error(ErrorKind::TimedOut, "the script ran too long and was ended"));
    } else if (thrown) {
        answer(request, *thrown);
    }
    run_platform_tasks();
}

// Of V8 itself, and the callbacks of finalization registries: nobody's request.
void V8Engine::run_platform_tasks() {
    watchdog_->begin();
    while (v8::platform::PumpMessageLoop(&platform(), isolate_)) {}
    if (watchdog_->end()) ++counters_.terminated;
}

void V8Engine::dispatch(Ticket request, std::string_view path) {
    if (!requests_.find(request)) {
        ++counters_.late;
        return;
    }
    enter(request, [&](v8::Local<v8::Context> context) {
        v8::Local<v8::Value> argument = to_js(path);
        v8::MaybeLocal<v8::Value> returned =
            trampoline_.Get(isolate_)->Call(context, v8::Undefined(isolate_), 1, &argument);
        static_cast<void>(returned);  // what it throws is seen by enter()
    });
}

void V8Engine::settle(Ticket promise, const Result<std::string>& outcome) {
    std::optional<OpenPromise> open = promises_.take(promise);
    if (!open) {
        ++counters_.late;
        return;
    }
    if (OpenRequest* request = requests_.find(open->request))
        std::erase(request->promises, promise);
    enter(open->request, [&](v8::Local<v8::Context> context) {
        finish(context, open->resolver.Get(isolate_), outcome);
    });
}

void V8Engine::finish(v8::Local<v8::Context> context, v8::Local<v8::Promise::Resolver> resolver,
                      const Result<std::string>& outcome) {
    v8::Maybe<bool> done =
        outcome ? resolver->Resolve(context, to_js(*outcome))
                : resolver->Reject(context, v8::Exception::Error(to_js(outcome.error().message())));
    // Nothing only when the execution is being terminated, and enter() sees that.
    static_cast<void>(done);
}

// The request is over: whatever it still awaits is rejected, so that its `finally` blocks run, and
// completions that are on their way find nothing.
void V8Engine::retire(const std::vector<Ticket>& promises) {
    for (Ticket ticket : promises) {
        if (!promises_.find(ticket)) continue;
        ++counters_.retired;
        settle(ticket, Error(ErrorKind::Cancelled, "the request is over"));
    }
}

void V8Engine::answer(Ticket request, Result<std::string> outcome) {
    OpenRequest* open = requests_.find(request);
    if (!open || !open->completer.complete(std::move(outcome))) ++counters_.late;
}

// ---------------------------------------------------------------- called by scripts

template <class T>
static T& target_of(const v8::FunctionCallbackInfo<v8::Value>& arguments) {
    return *static_cast<T*>(arguments.Data().As<v8::External>()->Value());
}

void V8Engine::on_respond(const Arguments& arguments) {
    auto& self = target_of<V8Engine>(arguments);
    self.answer(self.current_request(), self.text_of(arguments[0]));
}

void V8Engine::on_fail(const Arguments& arguments) {
    auto& self = target_of<V8Engine>(arguments);
    self.answer(self.current_request(), Error(ErrorKind::Other, self.text_of(arguments[0])));
}

// Which request this is, for scripts that want to know.
void V8Engine::on_request(const Arguments& arguments) {
    auto& self = target_of<V8Engine>(arguments);
    arguments.GetReturnValue().Set(
        v8::BigInt::NewFromUnsigned(self.isolate_, self.current_request().as_u64()));
}

void V8Engine::on_operation(const Arguments& arguments) {
    Binding& binding = target_of<Binding>(arguments);
    V8Engine& self = *binding.engine;
    v8::Local<v8::Context> context = self.isolate_->GetCurrentContext();
    v8::Local<v8::Promise::Resolver> resolver;
    if (!v8::Promise::Resolver::New(context).ToLocal(&resolver)) return;
    arguments.GetReturnValue().Set(resolver->GetPromise());
    Ticket request = self.current_request();
    Result<Ticket> promise = self.promises_.insert(
        OpenPromise{v8::Global<v8::Promise::Resolver>(self.isolate_, resolver), request});
    Result<void> started =
        promise ? self.start(*binding.operation, self.text_of(arguments[0]), request, *promise)
                : Result<void>(promise.error());
    if (started) return;
    if (promise) self.promises_.take(*promise);
    self.finish(context, resolver, started.error());
}

// A fiber in the scope of the request does the waiting; only the ticket knows the promise.
Result<void> V8Engine::start(const Operation& operation, std::string argument, Ticket request,
                             Ticket promise) {
    OpenRequest* open = requests_.find(request);
    if (!open) {
        ++counters_.late;
        return Error(ErrorKind::Cancelled, "the request is over");
    }
    auto finish = [this, promise](Result<std::string> outcome) {
        post([this, promise, outcome = std::move(outcome)] { settle(promise, outcome); });
    };
    auto run = [&operation, argument = std::move(argument), finish] {
        if (operation.place == Operation::Place::Fiber) return finish(operation.function(argument));
        bool begun = false;
        Result<void> ran = blocking([&] {
            begun = true;
            finish(operation.function(argument));  // on the pool's thread
        });
        if (!begun) finish(ran.error());
    };
    WEFT_TRY(open->scope->spawn(operation.name, std::move(run)));
    open->promises.push_back(promise);
    return {};
}

Ticket V8Engine::current_request() {
    v8::Local<v8::Value> kept =
        isolate_->GetCurrentContext()->GetContinuationPreservedEmbedderData();
    return kept->IsBigInt() ? Ticket::from_u64(kept.As<v8::BigInt>()->Uint64Value()) : Ticket();
}

std::string V8Engine::text_of(v8::Local<v8::Value> value) {
    v8::String::Utf8Value text(isolate_, value);
    return *text ? std::string(*text, static_cast<std::size_t>(text.length())) : std::string();
}

v8::Local<v8::String> V8Engine::to_js(std::string_view text) {
    return v8::String::NewFromUtf8(isolate_, text.data(), v8::NewStringType::kNormal,
                                   static_cast<int>(text.size()))
        .ToLocalChecked();
}

Error V8Engine::to_error(const v8::TryCatch& caught) {
    return Error(ErrorKind::Other, text_of(caught.Exception()));
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void weft_journeys_open_engine(
    EngineOptions options, std::unique_ptr<Engine>& engine);

void weft_journeys_open_engine(EngineOptions options, std::unique_ptr<Engine>& engine) {
    auto made = std::make_unique<V8Engine>(std::move(options));
    made->open();
    engine = std::move(made);
}

}  // namespace weft::journeys
