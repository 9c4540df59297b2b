#include "weft/api/test/test_run.h"

#include <string>
#include <utility>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/test/bindings.h"
#include "weft/base/assert.h"
#include "weft/js/describe.h"

namespace weft::api {

TestRun::TestRun(js::Isolate& isolate, CancelToken above,
                 std::function<void(std::string_view json)> on_event)
    : isolate_(isolate), above_(std::move(above)), on_event_(std::move(on_event)) {}

double TestRun::open_scope() {
    scopes_.emplace(++last_scope_, CancelSource(above_));
    return last_scope_;
}

void TestRun::close_scope(double scope) {
    auto found = scopes_.find(scope);
    if (found == scopes_.end()) return;
    found->second.cancel();
    scopes_.erase(found);
}

std::optional<CancelToken> TestRun::token_of(double scope) {
    auto found = scopes_.find(scope);
    if (found == scopes_.end()) return std::nullopt;
    return found->second.token();
}

void TestRun::end(Result<void> outcome) {
    if (!outcome_) outcome_.emplace(std::move(outcome));
    done_.set();
}

Result<void> TestRun::wait() {
    WEFT_TRY(done_.wait());
    return *outcome_;
}

template <class Arguments>
void TestRun::call_hook(std::string_view name, Arguments arguments) {
    isolate_.post([this, name = std::string(name), arguments = std::move(arguments)] {
        isolate_.turn([&](v8::Local<v8::Context> context) {
            v8::Local<v8::Value> hook;
            bool found = isolate_.hook_of("test", name).ToLocal(&hook);
            WEFT_ASSERT(found, "the prelude has the hooks of tests");
            std::vector<v8::Local<v8::Value>> values = arguments(isolate_.v8());
            js::seen_by_turn(hook.As<v8::Function>()->Call(context, v8::Undefined(isolate_.v8()),
                                                           static_cast<int>(values.size()),
                                                           values.data()));
        });
    });
}

void TestRun::ended(double scope, js::TurnEnd how) {
    call_hook("ended", [scope, how](v8::Isolate* v8) {
        const char* why = how == js::TurnEnd::MicrotaskLimit ? "microtasks" : "cpu";
        return std::vector<v8::Local<v8::Value>>{v8::Number::New(v8, scope), js::to_v8(v8, why)};
    });
}

void TestRun::uncaught(std::string_view text) {
    call_hook("uncaught", [text = std::string(text)](v8::Isolate* v8) {
        return std::vector<v8::Local<v8::Value>>{js::to_v8(v8, text)};
    });
}

void TestRun::begin(const std::string& file, const std::string& settings) {
    call_hook("run", [file, settings](v8::Isolate* v8) {
        return std::vector<v8::Local<v8::Value>>{js::to_v8(v8, file), js::to_v8(v8, settings)};
    });
}

Result<void> JsApplication::test(const TestRunOptions& options) {
    WEFT_TRY(use_import_map());
    test_run_ =
        std::make_unique<TestRun>(*instance_->isolate, instance_->tasks->token(), options.on_event);
    on_uncaught_ = [this](std::string_view text) { test_run_->uncaught(text); };
    test_run_->begin(options.file, options.settings);
    Result<void> outcome = test_run_->wait();
    on_uncaught_ = {};
    return outcome;
}

namespace {

TestRun& run_of(js::Call& call) {
    TestRun* run = JsApplication::of(call.isolate()).test_run();
    WEFT_ASSERT(run, "only the runner of tests calls these");
    return *run;
}

void test_event(js::Call& call) { run_of(call).tell(call.text(0)); }

void test_done(js::Call& call) { run_of(call).end({}); }

void test_scope(js::Call& call) { call.give(run_of(call).open_scope()); }

void test_scope_end(js::Call& call) { run_of(call).close_scope(call.number(0)); }

constexpr js::Binding kBindings[] = {
    js::bind<test_event>("testEvent", "(json: string): void"),
    js::bind<test_done>("testDone", "(): void"),
    js::bind<test_scope>("testScope", "(): number"),
    js::bind<test_scope_end>("testScopeEnd", "(scope: number): void"),
};

}  // namespace

std::span<const js::Binding> test_bindings() { return kBindings; }

}  // namespace weft::api
