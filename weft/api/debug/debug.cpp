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
void JsApplication::open_to_clients(World& world) {
    world.inspector = std::make_unique<js::Inspector>(*world.isolate, options_.name);
    world.inspector->mirror_console();
}

// Call in the loop, before the isolate ends or stops taking turns.
void JsApplication::end_clients(World& world) {
    if (!world.inspector) return;
    if (door_) door_->shut(*world.inspector);
    world.inspector->end_sessions();
}

std::shared_ptr<DebugDoor> JsApplication::debug_door() { return door_; }

js::Inspector& JsApplication::inspector() {
    if (!world_->inspector)
        world_->inspector = std::make_unique<js::Inspector>(*world_->isolate, options_.name);
    return *world_->inspector;
}

std::unique_ptr<DebugSession> JsApplication::debug(
    std::function<void(std::string_view json)> on_message) {
    std::unique_ptr<Session> session;
    Event done;
    world_->isolate->post([&] {
        session = std::make_unique<Session>(*world_->isolate, inspector());
        session->connect(std::move(on_message));
        done.set();
    });
    static_cast<void>(done.wait());
    return session;
}

}  // namespace weft::api
