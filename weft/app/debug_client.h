// DebugClient: sends requests to V8's debugger and waits for the answers.
//
// Any fiber and any plain thread, unless said otherwise.
#pragma once

// tidy: allow-file threads: answers arrive on the isolate's thread

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "weft/app/app_host.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/sync/event.h"

namespace weft::app {

class DebugClient {
public:
    // Before the first call(). The target outlives all calls.
    void attach(DebugTarget& target) { target_ = &target; }
    // The isolate's thread: a message from the target.
    void take(std::string_view json);

    // Calls a method and waits for its result. The error has the debugger's message; it is
    // Cancelled after give_up(), and OutOfMemory once the heap of the isolate is full.
    Result<nlohmann::json> call(std::string_view method, nlohmann::json parameters,
                                Deadline deadline = Deadline::never());
    // Ends all waiting calls. Any thread; does not wait.
    void give_up();

private:
    struct Pending {
        Event answered;
        Result<nlohmann::json> answer;
    };

    void end_all(const Error& reason);

    DebugTarget* target_ = nullptr;
    std::mutex lock_;                                  // guards the members below
    std::map<int, std::shared_ptr<Pending>> pending_;  // shared by call() and take()
    int last_ = 0;
    bool has_crashed_ = false;
};

}  // namespace weft::app
