// Inspector: V8's debugger for one isolate. It speaks the DevTools protocol.
//
// A session sends JSON and receives JSON. Messages wait in an inbox, which the owner's loop handles
// in turns of their own. If a turn is running, V8 handles the inbox at its next interrupt check, so
// that an endless loop can be paused. While V8 is paused at a breakpoint, the owner's thread waits
// in a loop that serves only the inbox: neither jobs nor timers nor fibers of its worker. That time
// does not count towards the turn's limit, and IsolateOptions::on_long_turn is called meanwhile.
//
// The owner's loop only, unless said otherwise. Sessions end before the inspector is destroyed.
#pragma once

// tidy: allow-file threads: a thread that is paused at a breakpoint waits for others

#include <v8-inspector.h>
#include <v8.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weft::js {

class Isolate;

class Inspector final : private v8_inspector::V8InspectorClient {
public:
    using OnMessage = std::function<void(std::string_view json)>;

    Inspector(Isolate& isolate, std::string_view name);
    ~Inspector() override;
    Inspector(const Inspector&) = delete;
    Inspector& operator=(const Inspector&) = delete;

    // Any thread. Begins a session and returns its number. Both functions are called on the owner's
    // thread and must not wait; `on_left` is called once, when the session has ended.
    std::uint64_t connect(OnMessage on_message, std::function<void()> on_left);
    // Any thread.
    void send(std::uint64_t session, std::string json);
    // Any thread: the session ends after the messages it has sent. If it was the last one, a paused
    // isolate goes on.
    void leave(std::uint64_t session);
    // Any thread: the same for all sessions. wait_for_client() does not wait any more.
    void leave_all() { push({.kind = Message::Kind::LeaveAll}); }

    // Any thread: terminates the turn that runs.
    void interrupt();

    // From now on, what scripts write to the console is also sent to all sessions; V8 keeps it for
    // sessions that begin later.
    void mirror_console();
    // The same for an uncaught error.
    void tell_uncaught(v8::Local<v8::Value> error, v8::Local<v8::Message> message);

    // `on_go` is called with true when a client sends Runtime.runIfWaitingForDebugger; V8 then
    // pauses before the first statement of the application. It is called with false if leave_all()
    // is called, or was called before. Null: the caller does not wait any more.
    void wait_for_client(std::function<void(bool)> on_go);
    // In a turn: the function that is called next belongs to the application, or to the prelude.
    // V8 pauses only in the former.
    void user_code_follows();
    void own_code_follows();
    // The application's first statement has run, so V8 does not pause before it any more.
    void forget_first_break();

    // In a turn: handles all messages of the inbox. If the isolate is condemned, outside of turns:
    // then sessions can only end.
    void dispatch_all();
    // The isolate is condemned and will answer no more requests: the sessions are notified.
    void tell_crashed();
    // Outside of turns: ends all sessions, also those whose beginning is still in the inbox.
    void end_sessions();

private:
    class Channel;
    struct Message {
        enum class Kind : std::uint8_t { Begin, Text, Leave, LeaveAll };
        Kind kind = Kind::Text;
        std::uint64_t session = 0;
        std::string json = {};
        OnMessage on_message = {};  // these two: Begin only
        std::function<void()> on_left = {};
    };

    void runMessageLoopOnPause(int group) override;
    void quitMessageLoopOnPause() override { paused_ = false; }
    void runIfWaitingForDebugger(int group) override;
    double currentTimeMS() override;
    v8::Local<v8::Context> ensureDefaultContextInGroup(int group) override;
    std::unique_ptr<v8_inspector::StringBuffer> resourceNameToUrl(
        const v8_inspector::StringView& name) override;
    void installAdditionalCommandLineAPI(v8::Local<v8::Context> context,
                                         v8::Local<v8::Object> object) override;

    void push(Message message);
    std::optional<Message> take();
    void handle(Message message);
    void begin(Message message);
    void disconnect(std::uint64_t session);
    void disconnect_all();
    void await_message();
    static void on_console(const v8::FunctionCallbackInfo<v8::Value>& info);
    static void on_interrupt(v8::Isolate* engine, void* data);

    Isolate& isolate_;
    std::unique_ptr<v8_inspector::V8Inspector> inspector_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Channel>> sessions_;
    std::function<void(bool)> on_go_;
    bool all_have_left_ = false;  // leave_all() was called
    bool breaks_first_ = false;   // V8 is to pause before the application's first statement
    bool paused_ = false;         // V8 is paused at a breakpoint

    std::mutex lock_;  // guards the members below
    std::condition_variable came_;
    std::deque<Message> inbox_;
    std::uint64_t last_session_ = 0;
    bool posted_ = false;  // the loop has been notified of the inbox
};

}  // namespace weft::js
