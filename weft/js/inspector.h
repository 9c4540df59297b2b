// Inspector: V8's debugger of one isolate, which speaks the DevTools protocol.
//
// A session sends it JSON and is given JSON. What is sent waits in an inbox, which the owner's loop
// empties in turns of its own; a turn that runs empties it at V8's next look around, so that a loop
// can be paused. While V8 stands at a breakpoint, the owner's thread waits in a loop that serves
// nothing but the inbox: neither jobs nor timers nor fibers of its worker. That time is no time of
// the turn's limits; IsolateOptions::on_long_turn is called meanwhile.
//
// The owner's loop, unless said otherwise. Sessions end before the inspector does.
#pragma once

// tidy: allow-file threads: a thread that stands at a breakpoint waits for others

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

    // Any thread. Both are called on the owner's thread and must not wait, `on_left` at the end of
    // the session, which is known by its number.
    std::uint64_t connect(OnMessage on_message, std::function<void()> on_left);
    // Any thread.
    void send(std::uint64_t session, std::string json);
    // Any thread: the session ends behind what it has sent. What stood at its breakpoint goes on.
    void leave(std::uint64_t session);
    // Any thread: so do all sessions, and no other is waited for.
    void leave_all() { push({.kind = Message::Kind::LeaveAll}); }

    // Any thread: ends the turn that runs now.
    void interrupt();

    // What is written to the console and what nobody catches is told to all sessions from now on,
    // and kept for those that begin later.
    void tap_console();
    void tell_uncaught(v8::Local<v8::Value> error, v8::Local<v8::Message> message);

    // `on_go` is called with true when a client says Runtime.runIfWaitingForDebugger; V8 then
    // stands still before the first statement of the user's. It is called with false if leave_all()
    // is, or was before. Null: nobody waits any more.
    void wait_for_client(std::function<void(bool)> on_go);
    // In a turn: the next function that is called is the user's, or is ours.
    void user_code_follows();
    void own_code_follows();
    // Nothing of the user's is to come that V8 should stand still before.
    void forget_first_break();

    // In a turn: does what the inbox asks for. Of a condemned isolate, outside of turns: sessions
    // can still leave.
    void dispatch_all();
    // The isolate is condemned, and answers nothing any more; its sessions are told.
    void tell_crashed();
    // Outside of turns: all sessions end, also those that have not begun yet.
    void end_sessions();

private:
    class Channel;
    struct Message {
        enum class Kind : std::uint8_t { Begin, Text, Leave, LeaveAll };
        Kind kind = Kind::Text;
        std::uint64_t session = 0;
        std::string json = {};
        OnMessage on_message = {};  // of one that begins
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
    bool all_have_left_ = false;
    bool breaks_first_ = false;  // before the first statement of the user's
    bool paused_ = false;

    std::mutex lock_;  // the rest
    std::condition_variable came_;
    std::deque<Message> inbox_;
    std::uint64_t last_session_ = 0;
    bool posted_ = false;  // the loop has been told
};

}  // namespace weft::js
