// BodyQueue: the body of a response on its way from a script to the connection's fiber.
//
// The script puts chunks in and is told when to pause; the fiber writes them and waits when there
// are none. Chunks that are put in together leave together.
//
// Owner's thread only: its loop (put, close, fail) and one of its fibers (produce).
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
    // A script that has put in so much waits until half of it has left.
    static constexpr std::size_t kHighBytes = 64 * 1024;

    // Called once the queue has room again, or has failed, after put() gave false.
    using OnRoom = std::move_only_function<void()>;

    // False: enough for now. Nothing is taken after the end.
    bool put(std::string chunk);
    void on_room(OnRoom on_room) { on_room_ = std::move(on_room); }
    void close();
    void fail(const Error& error);  // the client sees that the body is cut off
    bool is_over() const { return ended_.has_value(); }
    // The client takes no more: what is put in is dropped.
    bool is_broken() const { return broken_; }

    // The connection began to take it and did not come to its end.
    bool was_cut_off() const { return began_ && !done_; }

    // Nobody will take anything any more. Idempotent.
    void break_off();

    // On the connection's fiber, until the end.
    Result<void> produce(http::BodyWriter& writer);

private:
    Result<void> wait_for_chunks();
    void tell_room();

    std::deque<std::string> chunks_;
    std::size_t bytes_ = 0;
    std::optional<Result<void>> ended_;
    bool broken_ = false;
    bool began_ = false;
    bool done_ = false;
    WaitRef fiber_;
    bool fiber_waits_ = false;
    OnRoom on_room_;
};

// A promise that is settled when the queue has room again, after put() gave false.
v8::Local<v8::Value> room_promise(js::Call& call, BodyQueue& queue);

}  // namespace weft::api
