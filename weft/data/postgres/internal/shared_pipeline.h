// SharedPipeline: one connection that carries the statements of several callers; see
// shared_queue.h.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/postgres/internal/session.h"
#include "weft/data/postgres/internal/shared_queue.h"
#include "weft/sync/event.h"

namespace weft::data::postgres {

// Lives in the frame of its own fiber, which alone uses it, except for wake() and pending().
class SharedPipeline {
public:
    explicit SharedPipeline(SharedQueue& queue) : queue_(queue) {}
    ~SharedPipeline() { WEFT_ASSERT(sent_.empty(), "every statement that was sent is settled"); }
    SharedPipeline(const SharedPipeline&) = delete;
    SharedPipeline& operator=(const SharedPipeline&) = delete;

    void run();

    // Any fiber, while the pipeline is in its queue.
    void wake() { wake_.set(); }
    // Relaxed: a momentary value.
    std::size_t pending() const { return load_.load(std::memory_order_relaxed); }

private:
    // A statement that was sent and is not answered completely.
    struct Sent {
        RequestPointer request;
        RowForm form;
        unsigned before = 0;        // number of results before its own: those of its preparation
        bool is_preparing = false;  // its preparation is not confirmed yet
        bool drops_rows = false;    // its further rows are dropped, but it is read to its end
        Outcome outcome = {};
        std::optional<Error> failure = {};
    };

    // Carries statements until the connection has to be returned.
    void serve(Session& session);
    // One round of sending, reading and waiting. False: the connection has to be returned.
    bool exchange_once(Session& session);
    void send_more(Session& session);
    void send(Session& session, RequestPointer request);
    bool wait_for_more();
    void read(Session& session);
    void take_result(Session& session, const PGresult* result);
    void take_rows(Sent& head, const PGresult* result);
    void finish_head(Session& session);
    bool is_wanted() const;
    // Stops the statements at the server when no caller waits for any of them.
    void stop(Session& session);
    // The connection is lost: settles each statement with an error.
    void fail_all();
    void count() { load_.store(sent_.size(), std::memory_order_relaxed); }

    SharedQueue& queue_;
    Event wake_;
    std::deque<Sent> sent_;  // in the order of their answers
    Instant lease_end_;      // when the connection is returned, so that the pool can check it
    Instant head_begun_;
    bool is_ending_ = false;
    Atomic<std::size_t> load_{0};  // sent_.size(), for other fibers
};

}  // namespace weft::data::postgres
