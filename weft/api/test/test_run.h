// TestRun: the host's part of running one file of tests. The runner itself is run.js.
//
// Each test is a scope with a number of its own, used where a served application has the number of
// a request: what the test has started is cancelled at its end.
//
// Owning worker only: its loop, unless said otherwise.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/js/isolate.h"
#include "weft/sync/event.h"

namespace weft::api {

class TestRun {
public:
    // `above` is the parent of everything that the tests start.
    TestRun(js::Isolate& isolate, CancelToken above,
            std::function<void(std::string_view json)> on_event);

    double open_scope();
    void close_scope(double scope);
    std::optional<CancelToken> token_of(double scope);  // nothing when the scope is over

    void tell(std::string_view json) { on_event_(json); }
    void end(Result<void> outcome);
    // Call on a fiber of the owning worker.
    Result<void> wait();

    // A turn of this scope was ended by force.
    void ended(double scope, js::TurnEnd how);
    void uncaught(std::string_view text);
    // Runs in a turn of its own.
    void begin(const std::string& file, const std::string& settings);

private:
    // Calls a hook of realm.test in a turn of its own.
    template <class Arguments>
    void call_hook(std::string_view name, Arguments arguments);

    js::Isolate& isolate_;
    CancelToken above_;
    std::function<void(std::string_view json)> on_event_;
    std::unordered_map<double, CancelSource> scopes_;
    double last_scope_ = 0;
    Event done_;
    std::optional<Result<void>> outcome_;
};

}  // namespace weft::api
