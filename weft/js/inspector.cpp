#include "weft/js/inspector.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/runtime.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"
#include "weft/js/module_url.h"

namespace weft::js {
namespace {

using v8_inspector::StringBuffer;
using v8_inspector::StringView;

constexpr int kGroup = 1;
// How often on_long_turn is called while the thread is paused at a breakpoint.
constexpr std::chrono::milliseconds kLongTurnInterval{20};

StringView ascii(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The text if all of it is ASCII, as nearly all of the protocol is.
template <class Unit>
std::optional<std::string> as_ascii(const Unit* units, std::size_t length) {
    constexpr Unit kAsciiMax = 0x7F;
    std::string text(length, '\0');
    for (std::size_t at = 0; at < length; ++at) {
        if (units[at] > kAsciiMax) return std::nullopt;
        text[at] = static_cast<char>(units[at]);
    }
    return text;
}

// The inspector's 8-bit texts are Latin-1, the others are UTF-16.
std::string to_utf8(v8::Isolate* engine, const StringView& view) {
    // ASCII is converted without V8, because its heap may be full.
    std::optional<std::string> plain = view.is8Bit() ? as_ascii(view.characters8(), view.length())
                                                     : as_ascii(view.characters16(), view.length());
    if (plain) return std::move(*plain);
    v8::HandleScope handles(engine);
    v8::Local<v8::String> text;
    int length = static_cast<int>(view.length());
    bool made = view.is8Bit() ? v8::String::NewFromOneByte(engine, view.characters8(),
                                                           v8::NewStringType::kNormal, length)
                                    .ToLocal(&text)
                              : v8::String::NewFromTwoByte(engine, view.characters16(),
                                                           v8::NewStringType::kNormal, length)
                                    .ToLocal(&text);
    return made ? to_text(engine, text) : std::string();
}

// Scripts are named by their paths; clients expect URLs.
std::string to_url(std::string_view name) {
    return name.starts_with('/') ? file_url(name) : std::string(name);
}

// A string of V8 as UTF-16, which the inspector takes.
class Units {
public:
    Units(v8::Isolate* engine, v8::Local<v8::Value> text) : units_(engine, text) {}
    StringView view() const { return {*units_, static_cast<std::size_t>(units_.length())}; }

private:
    v8::String::Value units_;
};

}  // namespace

class Inspector::Channel final : public v8_inspector::V8Inspector::Channel {
public:
    Channel(Inspector& inspector, OnMessage on_message, std::function<void()> on_left)
        : engine_(inspector.isolate_.v8()),
          on_message_(std::move(on_message)),
          on_left_(std::move(on_left)),
#if V8_MAJOR_VERSION >= 11
          session_(inspector.inspector_->connect(kGroup, this, StringView(),
                                                 v8_inspector::V8Inspector::kFullyTrusted))
#else
          session_(inspector.inspector_->connect(kGroup, this, StringView()))
#endif
    {
    }

    ~Channel() override {
        WEFT_ASSERT(depth_ == 0, "a session ends when none of its messages is being handled");
        session_.reset();
        on_left_();
    }

    v8_inspector::V8InspectorSession& session() { return *session_; }

    void tell_crashed() { on_message_(R"({"method":"Inspector.targetCrashed","params":{}})"); }
    void dispatch(const std::string& json) {
        ++depth_;
        dispatch_text(json);
        --depth_;
    }
    // A message is being handled: V8 is paused at a breakpoint in a command of this client.
    bool is_dispatching() const { return depth_ > 0; }
    bool leaves = false;  // the session ends as soon as it is not dispatching

    void sendResponse(int, std::unique_ptr<StringBuffer> message) override {
        on_message_(to_utf8(engine_, message->string()));
    }
    void sendNotification(std::unique_ptr<StringBuffer> message) override {
        on_message_(to_utf8(engine_, message->string()));
    }
    void flushProtocolNotifications() override {}

private:
    void dispatch_text(const std::string& json) {
        v8::HandleScope handles(engine_);
        v8::Local<v8::String> text;
        if (!v8::String::NewFromUtf8(engine_, json.data(), v8::NewStringType::kNormal,
                                     static_cast<int>(json.size()))
                 .ToLocal(&text))
            return;
        session_->dispatchProtocolMessage(Units(engine_, text).view());
    }

    v8::Isolate* engine_;
    int depth_ = 0;
    OnMessage on_message_;
    std::function<void()> on_left_;
    std::unique_ptr<v8_inspector::V8InspectorSession> session_;
};

Inspector::Inspector(Isolate& isolate, std::string_view name) : isolate_(isolate) {
    WEFT_ASSERT(!isolate.inspector, "an isolate has one inspector");
    isolate_.enter();
    v8::HandleScope handles(isolate_.v8());
    inspector_ = v8_inspector::V8Inspector::create(isolate_.v8(), this);
    v8_inspector::V8ContextInfo info(isolate_.context(), kGroup, ascii(name));
    info.auxData = ascii(R"({"isDefault":true})");
    inspector_->contextCreated(info);
    isolate_.inspector = this;
}

Inspector::~Inspector() {
    WEFT_ASSERT(sessions_.empty(), "sessions end before their inspector");
    WEFT_ASSERT(!paused_, "the owner's thread does not end what it is paused in");
    WEFT_ASSERT(isolate_.inspector == this, "an isolate has one inspector");
    isolate_.inspector = nullptr;
    isolate_.enter();
    v8::HandleScope handles(isolate_.v8());
    inspector_->contextDestroyed(isolate_.context());
}

// ---------------------------------------------------------------- sessions

std::uint64_t Inspector::connect(OnMessage on_message, std::function<void()> on_left) {
    WEFT_ASSERT(on_message && on_left, "a session has a receiver for its messages and its end");
    std::uint64_t number = 0;
    {
        std::lock_guard lock(lock_);
        number = ++last_session_;
    }
    push({.kind = Message::Kind::Begin,
          .session = number,
          .on_message = std::move(on_message),
          .on_left = std::move(on_left)});
    return number;
}

void Inspector::begin(Message message) {
    if (isolate_.is_condemned()) return message.on_left();
    isolate_.enter();
    v8::HandleScope handles(isolate_.v8());
    WEFT_ASSERT(!sessions_.contains(message.session), "every session has its own number");
    sessions_.emplace(message.session,
                      std::make_unique<Channel>(*this, std::move(message.on_message),
                                                std::move(message.on_left)));
}

void Inspector::disconnect(std::uint64_t session) {
    auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    isolate_.enter();
    v8::HandleScope handles(isolate_.v8());
    if (found->second->is_dispatching()) {
        found->second->leaves = true;
        // No client would resume the next pause in the command that it has sent.
        found->second->session().setSkipAllPauses(true);
        paused_ = false;
        return;
    }
    // Moved out first: destroying the session may resume what it has paused.
    std::unique_ptr<Channel> ended = std::move(found->second);
    sessions_.erase(found);
    if (!sessions_.empty()) return;
    paused_ = false;
}

void Inspector::disconnect_all() {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, channel] : sessions_) numbers.push_back(number);
    for (std::uint64_t number : numbers) disconnect(number);
}

void Inspector::end_sessions() {
    WEFT_DASSERT(!isolate_.is_in_turn(), "sessions are ended between turns");
    while (std::optional<Message> message = take())
        if (message->kind == Message::Kind::Begin) message->on_left();
    disconnect_all();
}

// ---------------------------------------------------------------- the inbox

void Inspector::send(std::uint64_t session, std::string json) {
    push({.kind = Message::Kind::Text, .session = session, .json = std::move(json)});
}

void Inspector::leave(std::uint64_t session) {
    push({.kind = Message::Kind::Leave, .session = session});
}

void Inspector::interrupt() { isolate_.interrupt(); }

void Inspector::push(Message message) {
    bool tell = false;
    {
        std::lock_guard lock(lock_);
        inbox_.push_back(std::move(message));
        tell = !std::exchange(posted_, true);
    }
    came_.notify_all();
    if (!tell) return;
    isolate_.wake_inspector();
    // A turn that computes for long does not return to the loop, so V8 is interrupted as well.
    isolate_.v8()->RequestInterrupt(on_interrupt, &isolate_);
}

void Inspector::on_interrupt(v8::Isolate*, void* data) {
    if (Inspector* inspector = static_cast<Isolate*>(data)->inspector) inspector->dispatch_all();
}

std::optional<Inspector::Message> Inspector::take() {
    std::lock_guard lock(lock_);
    posted_ = false;
    if (inbox_.empty()) return std::nullopt;
    Message message = std::move(inbox_.front());
    inbox_.pop_front();
    return message;
}

void Inspector::dispatch_all() {
    WEFT_DASSERT(isolate_.is_on_owner_thread(), "sessions belong to the owner's thread");
    while (std::optional<Message> message = take()) handle(std::move(*message));
}

void Inspector::handle(Message message) {
    switch (message.kind) {
    case Message::Kind::Begin: return begin(std::move(message));
    case Message::Kind::Leave: return disconnect(message.session);
    case Message::Kind::LeaveAll:
        all_have_left_ = true;
        if (auto on_go = std::exchange(on_go_, {})) on_go(false);
        return disconnect_all();
    case Message::Kind::Text: break;
    }
    auto found = sessions_.find(message.session);
    if (found == sessions_.end()) return;
    Channel& channel = *found->second;
    if (isolate_.is_condemned()) return channel.tell_crashed();
    channel.dispatch(message.json);
    if (channel.leaves) disconnect(message.session);
}

void Inspector::tell_crashed() {
    for (auto& [number, channel] : sessions_) channel->tell_crashed();
}

// ---------------------------------------------------------------- breakpoints

void Inspector::runMessageLoopOnPause(int) {
    breaks_first_ = false;
    if (std::exchange(paused_, true)) return;
    isolate_.pause_turn();
    while (paused_ && !sessions_.empty()) {
        await_message();
        dispatch_all();
    }
    paused_ = false;
    isolate_.resume_turn();
}

// on_long_turn lets other workers serve this worker's requests that need no script.
void Inspector::await_message() {
    WEFT_DASSERT(paused_, "only a paused thread may block in its loop");
    WEFT_DASSERT(isolate_.is_on_owner_thread(), "the owner's thread is the one that is paused");
    std::unique_lock lock(lock_);
    auto has_come = [&] { return !inbox_.empty(); };
    const std::function<void()>& on_long_turn = isolate_.options().on_long_turn;
    if (!on_long_turn) return came_.wait(lock, has_come);
    while (!came_.wait_for(lock, kLongTurnInterval, has_come)) {
        lock.unlock();
        on_long_turn();
        lock.lock();
    }
}

void Inspector::wait_for_client(std::function<void(bool)> on_go) {
    if (on_go && all_have_left_) return on_go(false);
    on_go_ = std::move(on_go);
}

void Inspector::runIfWaitingForDebugger(int) {
    std::function<void(bool)> on_go = std::exchange(on_go_, {});
    if (!on_go) return;
    breaks_first_ = true;
    on_go(true);
}

void Inspector::user_code_follows() {
    WEFT_DASSERT(isolate_.is_in_turn(), "the next function is called in the same turn");
    if (!breaks_first_) return;
    for (auto& [number, channel] : sessions_)
        channel->session().schedulePauseOnNextStatement(ascii("Break on start"), ascii("{}"));
}

void Inspector::own_code_follows() {
    WEFT_DASSERT(isolate_.is_in_turn(), "the next function is called in the same turn");
    if (!breaks_first_) return;
    for (auto& [number, channel] : sessions_) channel->session().cancelPauseOnNextStatement();
}

void Inspector::forget_first_break() {
    own_code_follows();
    breaks_first_ = false;
}

// ---------------------------------------------------------------- notifications

// The functions of V8's own console notify the sessions and write nothing. Each function of the
// prelude's console is replaced by a native function that calls V8's and then the prelude's; native
// frames do not appear in the stack of a message.
void Inspector::mirror_console() {
    isolate_.enter();
    v8::Isolate* engine = isolate_.v8();
    v8::HandleScope handles(engine);
    v8::Local<v8::Context> context = isolate_.context();
    v8::Local<v8::Value> ours;
    v8::Local<v8::Value> theirs;
    v8::Local<v8::Array> names;
    bool found = isolate_.realm()->Get(context, to_v8(engine, "console")).ToLocal(&ours) &&
                 isolate_.realm()->Get(context, to_v8(engine, "engineConsole")).ToLocal(&theirs) &&
                 ours->IsObject() && theirs->IsObject() &&
                 ours.As<v8::Object>()->GetOwnPropertyNames(context).ToLocal(&names);
    WEFT_ASSERT(found, "the prelude keeps both consoles");
    for (std::uint32_t at = 0; at < names->Length(); ++at) {
        v8::Local<v8::Value> name;
        v8::Local<v8::Value> pair[2];
        v8::Local<v8::Function> both;
        if (!names->Get(context, at).ToLocal(&name) ||
            !ours.As<v8::Object>()->Get(context, name).ToLocal(&pair[0]) ||
            !theirs.As<v8::Object>()->Get(context, name).ToLocal(&pair[1]) ||
            !pair[0]->IsFunction() || !pair[1]->IsFunction() ||
            !v8::Function::New(context, on_console, v8::Array::New(engine, pair, 2), 0,
                               v8::ConstructorBehavior::kThrow)
                 .ToLocal(&both))
            continue;
        both->SetName(name.As<v8::String>());
        seen_by_turn(ours.As<v8::Object>()->Set(context, name, both));
    }
}

void Inspector::on_console(const v8::FunctionCallbackInfo<v8::Value>& info) {
    v8::Isolate* engine = info.GetIsolate();
    v8::Local<v8::Context> context = engine->GetCurrentContext();
    v8::Local<v8::Value> ours;
    v8::Local<v8::Value> theirs;
    auto pair = info.Data().As<v8::Array>();
    if (!pair->Get(context, 0).ToLocal(&ours) || !pair->Get(context, 1).ToLocal(&theirs)) return;
    std::vector<v8::Local<v8::Value>> arguments;
    for (int at = 0; at < info.Length(); ++at) arguments.push_back(info[at]);
    auto call = [&](v8::Local<v8::Value> function) {
        return function.As<v8::Function>()->Call(context, info.This(), info.Length(),
                                                 arguments.data());
    };
    {
        v8::TryCatch caught(engine);
        seen_by_turn(call(theirs));
        if (caught.HasTerminated()) {
            caught.ReThrow();
            return;
        }
    }
    v8::Local<v8::Value> result;
    if (call(ours).ToLocal(&result)) info.GetReturnValue().Set(result);
}

void Inspector::tell_uncaught(v8::Local<v8::Value> error, v8::Local<v8::Message> message) {
    v8::Isolate* engine = isolate_.v8();
    v8::Local<v8::Context> context = isolate_.context();
    if (message.IsEmpty()) message = v8::Exception::CreateMessage(engine, error);
    v8::Local<v8::StackTrace> stack = message->GetStackTrace();
    inspector_->exceptionThrown(
        context, ascii("Uncaught"), error, Units(engine, message->Get()).view(),
        Units(engine, message->GetScriptResourceName()).view(),
        static_cast<unsigned>(message->GetLineNumber(context).FromMaybe(0)),
        static_cast<unsigned>(message->GetStartColumn(context).FromMaybe(0)),
        stack.IsEmpty() ? nullptr : inspector_->createStackTrace(stack), 0);
}

// ---------------------------------------------------------------- callbacks of V8

double Inspector::currentTimeMS() { return static_cast<double>(env::wall_ns()) / 1e6; }

v8::Local<v8::Context> Inspector::ensureDefaultContextInGroup(int) { return isolate_.context(); }

std::unique_ptr<StringBuffer> Inspector::resourceNameToUrl(const StringView& name) {
    std::string url = to_url(to_utf8(isolate_.v8(), name));
    v8::HandleScope handles(isolate_.v8());
    return StringBuffer::create(Units(isolate_.v8(), to_v8(isolate_.v8(), url)).view());
}

// Offers the helper object of `weft repl` as `$weft` to evaluations that include the command line
// API.
void Inspector::installAdditionalCommandLineAPI(v8::Local<v8::Context> context,
                                                v8::Local<v8::Object> object) {
    v8::Local<v8::Value> repl;
    v8::Isolate* engine = isolate_.v8();
    if (isolate_.realm()->Get(context, to_v8(engine, "repl")).ToLocal(&repl))
        seen_by_turn(object->Set(context, to_v8(engine, "$weft"), repl));
}

}  // namespace weft::js
