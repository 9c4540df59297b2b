// Application::debug(): sessions of V8's debugger for callers that are not on the isolate's thread.
#include <cstdint>
#include <string>
#include <utility>

#include "weft/api/application/application.h"
#include "weft/js/inspector.h"
#include "weft/js/isolate.h"
#include "weft/sync/event.h"

namespace weft::api {
namespace {

class Session final : public DebugSession {
public:
    Session(js::Isolate& isolate, js::Inspector& inspector)
        : isolate_(isolate), inspector_(inspector) {}
    ~Session() override {
        inspector_.leave(number_);
        // Messages may still arrive until the owning worker has processed the departure.
        static_cast<void>(left_.wait());
    }

    void connect(std::function<void(std::string_view json)> on_message) {
        number_ = inspector_.connect(std::move(on_message), [this] { left_.set(); });
    }
    void send(std::string json) override { inspector_.send(number_, std::move(json)); }
    void interrupt() override { isolate_.interrupt(); }

private:
    js::Isolate& isolate_;
    js::Inspector& inspector_;
    std::uint64_t number_ = 0;
    Event left_;
};

}  // namespace

// Call in the loop. Records console output and errors, so that a client that connects later sees
// them.
void JsApplication::open_to_clients(Instance& instance) {
    instance.inspector = std::make_unique<js::Inspector>(*instance.isolate, options_.name);
    instance.inspector->mirror_console();
}

// Call in the loop, before the isolate ends or stops taking turns.
void JsApplication::end_clients(Instance& instance) {
    if (!instance.inspector) return;
    if (door_) door_->shut(*instance.inspector);
    instance.inspector->end_sessions();
}

std::shared_ptr<DebugDoor> JsApplication::debug_door() { return door_; }

js::Inspector& JsApplication::inspector() {
    if (!instance_->inspector)
        instance_->inspector = std::make_unique<js::Inspector>(*instance_->isolate, options_.name);
    return *instance_->inspector;
}

std::unique_ptr<DebugSession> JsApplication::debug(
    std::function<void(std::string_view json)> on_message) {
    std::unique_ptr<Session> session;
    Event done;
    instance_->isolate->post([&] {
        session = std::make_unique<Session>(*instance_->isolate, inspector());
        session->connect(std::move(on_message));
        done.set();
    });
    static_cast<void>(done.wait());
    return session;
}

}  // namespace weft::api
