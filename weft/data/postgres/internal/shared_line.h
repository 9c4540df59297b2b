// One connection that carries the statements of several callers; see shared_queue.h.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/postgres/internal/session.h"
#include "weft/data/postgres/internal/shared_queue.h"
#include "weft/sync/event.h"

namespace weft::data::postgres {

// Lives in the fiber that runs it.
class SharedLine {
public:
    explicit SharedLine(SharedQueue& queue) : queue_(queue) {}

    void run();

    // Any fiber, while the line is in its queue.
    void wake() { wake_.set(); }
    // Relaxed: a moment's value.
    std::size_t burden() const { return load_.load(std::memory_order_relaxed); }

private:
    // One that is sent and not answered to its end.
    struct Sent {
        RequestPointer request;
        RowForm form;
        unsigned before = 0;      // so many answers come before its own: it is prepared first
        bool unprepared = false;  // and that has not been confirmed
        bool skips = false;       // its other rows are not wanted, but its end is
        Outcome outcome = {};
        std::optional<Error> failure = {};
    };

    // While the connection is ours.
    void serve(Session& session);
    // False: it is to be given back.
    bool take_turn(Session& session);
    void send_more(Session& session);
    void send(Session& session, RequestPointer request);
    bool wait_for_more();
    void read(Session& session);
    void take_result(Session& session, const PGresult* result);
    void take_rows(Sent& head, const PGresult* result);
    void finish_head(Session& session);
    bool is_wanted() const;
    // Stops at the server what nobody waits for.
    void stop(Session& session);
    // The connection is lost: each has one outcome all the same.
    void lose();
    void count() { load_.store(sent_.size(), std::memory_order_relaxed); }

    SharedQueue& queue_;
    Event wake_;
    std::deque<Sent> sent_;  // in the order of their answers
    Instant term_end_;       // when the connection goes back, for others to look at
    Instant head_begun_;
    bool yields_ = false;
    Atomic<std::size_t> load_{0};  // as others see it
};

}  // namespace weft::data::postgres
