// A JavaScript engine on one pinned worker: what js/ will be, as small as a test of the floor
// needs.
//
// JavaScript runs in the worker's loop, on the thread's own stack, one dispatch and one drain of
// the microtasks at a time. Fibers of that worker hand calls over and park. What a script awaits is
// an operation: a function of the host that runs on a fiber in the scope of the request, and comes
// back through the worker's inbox with a ticket.
//
// The engine is in a shared object of its own, loaded with dlopen by a plain thread, because a
// program without JavaScript must not pay for V8.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/async/context.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/runtime.h"

namespace weft::journeys {

// A function that scripts can call with one text; it gives a promise of another.
struct Operation {
    // Fiber: may wait, and ends when its request does. Pool: blocks a thread of the blocking pool.
    enum class Place : bool { Fiber, Pool };

    std::string name;
    Place place = Place::Fiber;
    std::function<Result<std::string>(const std::string&)> function;
};

struct EngineOptions {
    Runtime* runtime = nullptr;  // outlives the engine
    unsigned worker = 0;         // a pinned one, by its number in the runtime
    std::vector<Operation> operations;
    // Longer than this no dispatch runs; it is ended at most a fifth later.
    Nanoseconds dispatch_time = std::chrono::milliseconds(50);
};

struct EngineCounters {
    std::uint64_t dispatches = 0;  // calls into JavaScript
    std::uint64_t retired = 0;     // promises whose request was over before they were settled
    std::uint64_t late = 0;        // calls, settlements and answers that found a stale ticket
    std::uint64_t terminated = 0;  // dispatches ended by the watchdog
    std::size_t open_requests = 0;
    std::size_t open_promises = 0;
};

// Fibers of its worker. Before it is destroyed it is closed.
class Engine {
public:
    virtual ~Engine() = default;

    // Runs a script, which defines the global function handle(path).
    virtual Result<void> load(std::string_view source) = 0;
    // Calls handle(path) and waits for what it, or its promise, gives. When the context ends first,
    // what the call has under way is cancelled and its promises are rejected.
    virtual Result<std::string> call(std::string_view path, const async::Context& context) = 0;
    virtual EngineCounters counters() const = 0;
    // When nothing is under way any more.
    virtual void close() = 0;
};

// The one symbol of the shared object. On a fiber of the worker.
using OpenEngine = void (*)(EngineOptions options, std::unique_ptr<Engine>& engine);
inline constexpr const char* kOpenEngine = "weft_journeys_open_engine";

}  // namespace weft::journeys
