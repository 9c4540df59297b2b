#include "weft/js/inspector.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/runtime.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"

namespace weft::js {
namespace {

using v8_inspector::StringBuffer;
using v8_inspector::StringView;

constexpr int kGroup = 1;

StringView ascii(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The inspector's short texts are Latin-1, its others UTF-16.
std::string to_utf8(v8::Isolate* engine, const StringView& view) {
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

// From "/srv/app.js" a client knows no URL.
std::string to_url(std::string_view name) {
    return name.starts_with('/') ? "file://" + std::string(name) : std::string(name);
}

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
    // V8 stands at a breakpoint in something that its client has asked for.
    bool is_at_work() const { return depth_ > 0; }
    bool leaves = false;  // as soon as it is not at work

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
        v8::String::Value units(engine_, text);
        session_->dispatchProtocolMessage(
            StringView(*units, static_cast<std::size_t>(units.length())));
    }

    v8::Isolate* engine_;
    int depth_ = 0;
    OnMessage on_message_;
    std::function<void()> on_left_;
    std::unique_ptr<v8_inspector::V8InspectorSession> session_;
};

Inspector::Inspector(Isolate& isolate, std::string_view name) : isolate_(isolate) {
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
    isolate_.inspector = nullptr;
    isolate_.enter();
    v8::HandleScope handles(isolate_.v8());
    inspector_->contextDestroyed(isolate_.context());
}

std::uint64_t Inspector::connect(OnMessage on_message, std::function<void()> on_left) {
    isolate_.enter();
    v8::HandleScope handles(isolate_.v8());
    sessions_.emplace(++last_session_,
                      std::make_unique<Channel>(*this, std::move(on_message), std::move(on_left)));
    return last_session_;
}

void Inspector::disconnect(std::uint64_t session) {
    auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    if (found->second->is_at_work()) {
        found->second->leaves = true;
        paused_ = false;
        return;
    }
    isolate_.enter();
    v8::HandleScope handles(isolate_.v8());
    // Its last breath may resume what it has paused.
    std::unique_ptr<Channel> ended = std::move(found->second);
    sessions_.erase(found);
    if (!sessions_.empty()) return;
    paused_ = false;
}

// ---------------------------------------------------------------- the inbox

void Inspector::send(std::uint64_t session, std::string json) {
    push({session, false, std::move(json)});
}

void Inspector::leave(std::uint64_t session) { push({session, true, {}}); }

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
    // A turn that computes does not come back to its loop.
    isolate_.v8()->RequestInterrupt(on_interrupt, &isolate_);
}

void Inspector::on_interrupt(v8::Isolate*, void* data) {
    if (Inspector* inspector = static_cast<Isolate*>(data)->inspector) inspector->dispatch_all();
}

void Inspector::dispatch_all() {
    while (true) {
        Message message;
        {
            std::lock_guard lock(lock_);
            posted_ = false;
            if (inbox_.empty()) return;
            message = std::move(inbox_.front());
            inbox_.pop_front();
        }
        if (message.leaves) {
            disconnect(message.session);
        } else if (auto found = sessions_.find(message.session); found != sessions_.end()) {
            Channel& channel = *found->second;
            if (isolate_.is_condemned()) {
                channel.tell_crashed();
                continue;
            }
            channel.dispatch(message.json);
            if (channel.leaves) disconnect(message.session);
        }
    }
}

void Inspector::tell_crashed() {
    for (auto& [number, channel] : sessions_) channel->tell_crashed();
}

// ---------------------------------------------------------------- standing still

void Inspector::runMessageLoopOnPause(int) {
    if (std::exchange(paused_, true)) return;
    isolate_.pause_turn();
    while (paused_ && !sessions_.empty()) {
        {
            std::unique_lock lock(lock_);
            came_.wait(lock, [&] { return !inbox_.empty(); });
        }
        dispatch_all();
    }
    paused_ = false;
    isolate_.resume_turn();
}

// ---------------------------------------------------------------- what V8 asks

double Inspector::currentTimeMS() { return static_cast<double>(env::wall_ns()) / 1e6; }

v8::Local<v8::Context> Inspector::ensureDefaultContextInGroup(int) { return isolate_.context(); }

std::unique_ptr<StringBuffer> Inspector::resourceNameToUrl(const StringView& name) {
    std::string url = to_url(to_utf8(isolate_.v8(), name));
    v8::HandleScope handles(isolate_.v8());
    v8::Local<v8::String> text = to_v8(isolate_.v8(), url);
    v8::String::Value units(isolate_.v8(), text);
    return StringBuffer::create(StringView(*units, static_cast<std::size_t>(units.length())));
}

// What `weft repl` works with, by an evaluation that asks for the functions of the command line.
void Inspector::installAdditionalCommandLineAPI(v8::Local<v8::Context> context,
                                                v8::Local<v8::Object> object) {
    v8::Local<v8::Value> repl;
    v8::Isolate* engine = isolate_.v8();
    if (isolate_.realm()->Get(context, to_v8(engine, "repl")).ToLocal(&repl))
        seen_by_turn(object->Set(context, to_v8(engine, "$weft"), repl));
}

}  // namespace weft::js
