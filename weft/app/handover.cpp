#include "weft/app/handover.h"

#include <memory>
#include <utility>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft::app {
namespace {

// Runs the function on that worker below the caller's token, and waits for its end.
template <class Function>
auto run_at(Runtime& runtime, unsigned pinned, Function function) {
    auto running = runtime.spawn_pinned(pinned, std::move(function), {.name = "handover"});
    return shield(Deadline::never(), [&] { return running.join(); });
}

// A value that is used and destroyed only by fibers of one worker.
template <class Value>
class AtWorker {
public:
    AtWorker(Runtime& runtime, unsigned pinned, Value value)
        : runtime_(&runtime), pinned_(pinned), value_(std::make_unique<Value>(std::move(value))) {}
    AtWorker(AtWorker&& other) noexcept = default;
    ~AtWorker() {
        if (!value_) return;
        static_cast<void>(
            run_at(*runtime_, pinned_, [value = std::move(value_)]() mutable { value.reset(); }));
    }

    template <class... Arguments>
    auto operator()(Arguments&... arguments) {
        return run_at(*runtime_, pinned_, [&] { return (*value_)(arguments...); });
    }

private:
    Runtime* runtime_;
    unsigned pinned_;
    std::unique_ptr<Value> value_;
};

}  // namespace

Result<http::Response> handle_at(Runtime& runtime, unsigned pinned,
                                 std::move_only_function<Result<http::Response>()> handle) {
    Result<http::Response> outcome =
        run_at(runtime, pinned, [&]() -> Result<http::Response> { return handle(); });
    if (!outcome) return outcome;
    http::Response& response = *outcome;
    if (http::Body::Produced* produced = response.body.as_produced()) {
        std::optional<std::uint64_t> size = produced->size;
        response.body = http::Body::produced(
            [producer = AtWorker(runtime, pinned, std::move(produced->producer))](
                http::BodyWriter& writer) mutable { return producer(writer); },
            size);
    }
    if (response.upgrade) {
        response.upgrade = [upgrade = AtWorker(runtime, pinned, std::move(response.upgrade))](
                               http::Upgraded& connection) mutable {
            static_cast<void>(upgrade(connection));
        };
    }
    if (response.afterwards) {
        response.afterwards =
            [call = AtWorker(runtime, pinned, std::move(response.afterwards))]() mutable {
                static_cast<void>(call());
            };
    }
    return outcome;
}

}  // namespace weft::app
