// JsDebugDoor: the way from other threads to the inspector that an application has at the time.
//
// open() and shut(): the application's worker. All else: any thread.
#pragma once

// tidy: allow-file threads: clients are on other threads

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "weft/api/host.h"

namespace weft::js {
class Inspector;
}

namespace weft::api {

class JsDebugDoor final : public DebugDoor, public std::enable_shared_from_this<JsDebugDoor> {
public:
    // To this inspector from now on, until shut(), which comes before its end.
    void open(js::Inspector& inspector);
    // Does nothing if it leads to another one.
    void shut(js::Inspector& inspector);

    std::unique_ptr<DebugSession> connect(std::function<void(std::string_view json)> on_message,
                                          std::function<void()> on_end) override;
    void close() override;

    // Calls it with the inspector, if that is still the one of this number.
    template <class Function>
    void with_inspector(std::uint64_t number, Function function);

private:
    // Held while the inspector is told something, which therefore cannot end meanwhile. That calls
    // nobody back.
    std::mutex lock_;
    js::Inspector* inspector_ = nullptr;
    std::uint64_t number_ = 0;  // how many there were
    bool closed_ = false;
};

}  // namespace weft::api
