// JsDebugDoor: connects other threads to the inspector that an application has at the moment.
//
// Owning worker only: open() and shut(). Any thread: all other functions.
#pragma once

// tidy: allow-file threads: debugger clients are on other threads

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
    // From now on connect() leads to this inspector. shut() must be called before the inspector
    // ends.
    void open(js::Inspector& inspector);
    // Does nothing if the door leads to another inspector.
    void shut(js::Inspector& inspector);

    std::unique_ptr<DebugSession> connect(std::function<void(std::string_view json)> on_message,
                                          std::function<void()> on_end) override;
    void close() override;

    // Calls the function with the inspector if it is still the one with this number.
    template <class Function>
    void with_inspector(std::uint64_t number, Function function);

private:
    // Held while the inspector is told something, so that it cannot end meanwhile. The inspector
    // calls nobody back during that time.
    std::mutex lock_;
    js::Inspector* inspector_ = nullptr;
    std::uint64_t number_ = 0;  // number of inspectors so far
    bool closed_ = false;
};

}  // namespace weft::api
