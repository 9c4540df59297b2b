// DebugClient: asks V8's debugger and waits for its answers.
//
// Any fiber and any plain thread.
#pragma once

// tidy: allow-file threads: answers come on the isolate's thread

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
    // Messages are sent there; it outlives the client's calls.
    void attach(DebugTarget& target) { target_ = &target; }
    // What the target says; the isolate's thread.
    void take(std::string_view json);

    // The result of a method; the error is what the debugger says. Cancelled after give_up(),
    // OutOfMemory once the heap of the isolate is full.
    Result<nlohmann::json> call(std::string_view method, nlohmann::json parameters,
                                Deadline deadline = Deadline::never());
    // Nobody waits any longer. Any thread, also one that must not wait.
    void give_up();

private:
    struct Pending {
        Event answered;
        Result<nlohmann::json> answer;
    };

    void end_all(const Error& reason);

    DebugTarget* target_ = nullptr;
    std::mutex lock_;                                  // the rest
    std::map<int, std::shared_ptr<Pending>> pending_;  // shared by who asks and who answers
    int last_ = 0;
    bool has_crashed_ = false;
};

}  // namespace weft::app
