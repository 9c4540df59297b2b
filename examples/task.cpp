// A task: one job with a value, or an error, that is waited for once.
#include "weft/async/task.h"

#include <cstdio>
#include <string>

#include "weft/fiber/runtime.h"

using weft::ErrorKind;
using weft::Result;
using weft::sleep_for;
using namespace weft::async;
using namespace std::chrono_literals;

namespace {

Result<std::string> load_config(Context&) {
    WEFT_TRY(sleep_for(2ms));
    return std::string("port=8080");
}

Result<int> demonstrate() {
    // Both run while this fiber goes on; neither needs a channel of its own for the result.
    Task<std::string> config = WEFT_TRY(run_task(load_config));
    Task<int> answer = WEFT_TRY(run_task([](Context&) { return 42; }));
    std::printf("config: %s\n", WEFT_TRY(config.wait()).c_str());

    // The result has one owner: who asks again gets an error instead of a copy.
    Result<std::string> again = config.wait();
    std::printf("asked again: %s\n", again ? "?" : again.error().message().c_str());

    // A task below a context ends with it.
    auto [context, cancel] = Context::current().with_cancel();
    Task<int> slow = WEFT_TRY(run_with_context(context, [](Context&) -> Result<int> {
        WEFT_TRY(sleep_for(1h));
        return 0;
    }));
    cancel.cancel();
    Result<int> stopped = slow.wait();
    std::printf("a cancelled task: %s\n", stopped ? "?" : stopped.error().message().c_str());
    if (again || stopped) return ErrorKind::Other;
    return answer.wait();
}

}  // namespace

int main() {
    Result<int> answer = weft::run(demonstrate);
    std::printf("answer: %d\n", answer.value_or(-1));
    return answer == 42 ? 0 : 1;
}
