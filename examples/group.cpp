// A group: jobs that belong together. The first error ends the others, and wait() gives it when all
// of them have ended; so they may use what is in the frame around the group.
#include "weft/async/group.h"

#include <cstdio>

#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"
#include "weft/sync/select.h"

using weft::Channel;
using weft::Error;
using weft::ErrorKind;
using weft::Result;
using weft::sleep_for;
using namespace weft::async;
using namespace std::chrono_literals;

namespace {

// Waits honour the context unasked: this one ends with an error when the group is cancelled.
Result<void> serve(const char* name) {
    Result<void> slept = sleep_for(1h);
    std::printf("%s: %s\n", name, slept ? "done" : slept.error().message().c_str());
    return slept;
}

// So does select, whatever it waits for; the context can then say why.
Result<void> consume(Context& context, Channel<int>& numbers) {
    auto chosen =
        weft::select(on_receive(numbers, [](Result<int>) {}), weft::on_timeout(1h, [] {}));
    if (chosen) return {};
    std::printf("consumer: %s\n", context.check().error().message().c_str());
    return context.check();
}

Result<void> demonstrate() {
    int sum = 0;
    Group calm;
    WEFT_TRY(calm.go([&] { sum += 40; }));
    WEFT_TRY(calm.wait());
    std::printf("a group without an error: %d\n", sum);

    Channel<int> numbers(0);
    Group group;
    WEFT_TRY(group.go([] { return serve("server"); }));
    WEFT_TRY(group.go([&](Context& context) { return consume(context, numbers); }));
    WEFT_TRY(group.go([]() -> Result<void> {
        WEFT_TRY(sleep_for(5ms));
        return Error(ErrorKind::Other, "stop the group");
    }));
    return group.wait();
}

}  // namespace

int main() {
    Result<void> outcome = weft::run(demonstrate);
    std::printf("the group ended: %s\n", outcome ? "?" : outcome.error().message().c_str());
    return !outcome && outcome.error().message() == "stop the group" ? 0 : 1;
}
