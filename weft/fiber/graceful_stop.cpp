#include "weft/fiber/graceful_stop.h"

#include <signal.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/log.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/dump.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/signal.h"

namespace weft {

struct GracefulStop::State {
    State(Runtime& stopped, StopOptions how) : runtime(stopped), options(how) {}

    Runtime& runtime;
    const StopOptions options;
    SpinLock lock;  // closers, signals_seen
    std::vector<std::function<void()>> closers;
    unsigned signals_seen = 0;
    std::optional<SignalHook> terminate;
    std::optional<SignalHook> interrupt;
    std::optional<SignalHook> dump;

    void on_signal();
};

void GracefulStop::State::on_signal() {
    std::vector<std::function<void()>> closing;
    unsigned seen = 0;
    {
        SpinGuard guard(lock);
        seen = ++signals_seen;
        if (seen == 1) closing = std::exchange(closers, {});
    }
    if (seen == 2) return runtime.cancel_all();
    if (seen > 2) return;
    log(LogLevel::Info, "stopping: draining for at most {} ms",
        std::chrono::duration_cast<std::chrono::milliseconds>(options.drain).count());
    while (!closing.empty()) {
        closing.back()();
        closing.pop_back();
    }
    Runtime* target = &runtime;
    Result<void> timer = runtime.spawn_detached(
        [target, drain = options.drain] {
            // An early end of the sleep is the end of the runtime.
            if (sleep_for(drain)) target->cancel_all();
        },
        {.name = "drain timer"});
    if (!timer) runtime.cancel_all();
}

GracefulStop::GracefulStop(std::unique_ptr<State> state) : state_(std::move(state)) {}
GracefulStop::GracefulStop(GracefulStop&&) noexcept = default;
GracefulStop& GracefulStop::operator=(GracefulStop&&) noexcept = default;
GracefulStop::~GracefulStop() = default;

Result<GracefulStop> GracefulStop::on_signals(Runtime& runtime, StopOptions options) {
    auto state = std::make_unique<State>(runtime, options);
    State* raw = state.get();
    auto stop = [raw](int) { raw->on_signal(); };
    state->terminate = WEFT_TRY(SignalHook::open(SIGTERM, stop));
    state->interrupt = WEFT_TRY(SignalHook::open(SIGINT, stop));
    state->dump = WEFT_TRY(SignalHook::open(SIGUSR1, [](int) {
        std::string text = dump_fibers();
        // Nothing can be done about a stderr that is gone.
        static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
    }));
    return GracefulStop(std::move(state));
}

void GracefulStop::on_drain(std::function<void()> close) {
    {
        SpinGuard guard(state_->lock);
        if (state_->signals_seen == 0) {
            state_->closers.push_back(std::move(close));
            return;
        }
    }
    close();
}

void GracefulStop::begin() { state_->on_signal(); }

bool GracefulStop::has_begun() const {
    SpinGuard guard(state_->lock);
    return state_->signals_seen != 0;
}

}  // namespace weft
