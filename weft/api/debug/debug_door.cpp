#include "weft/api/debug/debug_door.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/js/inspector.h"

namespace weft::api {
namespace {

// May outlive its inspector; then its functions do nothing.
class DoorSession final : public DebugSession {
public:
    // The owners of the door are the application and all its sessions.
    DoorSession(std::shared_ptr<JsDebugDoor> door, std::uint64_t inspector, std::uint64_t session)
        : door_(std::move(door)), inspector_(inspector), session_(session) {}
    ~DoorSession() override {
        door_->with_inspector(inspector_,
                              [&](js::Inspector& inspector) { inspector.leave(session_); });
    }

    void send(std::string json) override {
        door_->with_inspector(inspector_, [&](js::Inspector& inspector) {
            inspector.send(session_, std::move(json));
        });
    }
    void interrupt() override {
        door_->with_inspector(inspector_, [](js::Inspector& inspector) { inspector.interrupt(); });
    }

private:
    std::shared_ptr<JsDebugDoor> door_;
    std::uint64_t inspector_;
    std::uint64_t session_;
};

}  // namespace

template <class Function>
void JsDebugDoor::with_inspector(std::uint64_t number, Function function) {
    std::lock_guard lock(lock_);
    if (inspector_ && number == number_) function(*inspector_);
}

void JsDebugDoor::open(js::Inspector& inspector) {
    std::lock_guard lock(lock_);
    if (closed_) return;
    WEFT_ASSERT(!inspector_, "the previous inspector was shut out before");
    inspector_ = &inspector;
    ++number_;
}

void JsDebugDoor::shut(js::Inspector& inspector) {
    std::lock_guard lock(lock_);
    if (inspector_ == &inspector) inspector_ = nullptr;
}

std::unique_ptr<DebugSession> JsDebugDoor::connect(
    std::function<void(std::string_view json)> on_message, std::function<void()> on_end) {
    std::lock_guard lock(lock_);
    if (!inspector_ || closed_) return nullptr;
    std::uint64_t session = inspector_->connect(std::move(on_message), std::move(on_end));
    return std::make_unique<DoorSession>(shared_from_this(), number_, session);
}

void JsDebugDoor::close() {
    std::lock_guard lock(lock_);
    closed_ = true;
    if (inspector_) inspector_->leave_all();
}

}  // namespace weft::api
