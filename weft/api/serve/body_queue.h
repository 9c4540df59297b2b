// BodyQueue: the body of a response on its way from a script to the connection's fiber.
//
// The script puts chunks in and is told when to pause; the fiber writes them and parks when there
// are none. Chunks that are put in within one turn are written together.
//
// Owning worker only: its loop (put, close, fail) and one of its fibers (produce). The queue ends
// by close(), fail() or abandon().
#pragma once

#include <v8.h>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "weft/base/error.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/fiber/waiter.h"
#include "weft/http/body.h"
#include "weft/js/binding.h"

namespace weft::api {

class BodyQueue {
public:
    // The high-water mark: a script that has put in this much waits until half of it was written.
    static constexpr std::size_t kHighWaterBytes = 64 * 1024;

    // Called once, after put() returned false, when the queue has room again or has failed.
    using OnRoom = std::move_only_function<void()>;

    // Returns false if the script should wait for room. After the end chunks are ignored.
    bool put(std::string chunk);
    void on_room(OnRoom on_room) { on_room_ = std::move(on_room); }
    void close();
    void fail(const Error& error);  // the client sees a truncated body
    bool is_over() const { return ended_.has_value(); }
    // The client takes no more; chunks that are put in are dropped.
    bool is_abandoned() const { return abandoned_; }

    // The connection has begun to write the body but did not reach its end.
    bool was_cut_off() const { return began_ && !done_; }

    // Nobody will write the chunks any more. Idempotent.
    void abandon();

    // Runs on the connection's fiber and writes chunks until the end.
    Result<void> produce(http::BodyWriter& writer);

private:
    // So many chunks are written together.
    static constexpr std::size_t kChunksTogether = 8;

    Result<void> write_some(http::BodyWriter& writer);
    Result<void> wait_for_chunks();
    void notify_room();

    std::deque<std::string> chunks_;
    std::size_t bytes_ = 0;
    std::optional<Result<void>> ended_;
    bool abandoned_ = false;
    bool began_ = false;
    bool done_ = false;
    WaitRef fiber_;
    bool fiber_waits_ = false;
    OnRoom on_room_;
};

// A promise that is settled when the queue has room again after put() returned false.
v8::Local<v8::Value> room_promise(js::Call& call, BodyQueue& queue);

}  // namespace weft::api
