#include "weft/data/postgres/internal/shared_pipeline.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/connection.h"
#include "weft/data/postgres/internal/words.h"
#include "weft/fiber/turn.h"

namespace weft::data::postgres {
namespace {

// Callers that were just answered may send their next statement at once.
constexpr Nanoseconds kLinger = std::chrono::milliseconds(1);
// After this time the connection is returned in any case, so that the pool can check its age.
constexpr Nanoseconds kLeaseTimeMax = std::chrono::seconds(5);

}  // namespace

void SharedPipeline::run() {
    do {
        Result<Lease> lease = queue_.acquire();
        if (!lease) return queue_.give_up(lease.error());
        queue_.join(*this);
        serve(static_cast<PostgresConnection&>(**lease).session());
        queue_.leave(*this);
    } while (queue_.try_continue());
}

void SharedPipeline::serve(Session& session) {
    WEFT_ASSERT(sent_.empty(), "a connection begins with no statement under way");
    Link& link = session.link();
    is_ending_ = false;
    lease_end_ = Clock::now() + kLeaseTimeMax;
    if (!link.enter_pipeline()) return link.set_broken();
    while (exchange_once(session)) {}
    if (link.is_broken()) {
        fail_all();
    } else if (PQpipelineStatus(link.pg()) != PQ_PIPELINE_OFF) {
        // A failure breaks the link.
        static_cast<void>(link.leave_pipeline());
    }
    session.note_end();
}

bool SharedPipeline::exchange_once(Session& session) {
    Link& link = session.link();
    // Reset before the queue is checked, so that a statement that is queued later ends the wait.
    wake_.reset();
    is_ending_ = is_ending_ || queue_.has_to_yield() || Clock::now() >= lease_end_;
    send_more(session);
    bool to_write = PQflush(link.pg()) > 0;
    read(session);
    count();
    if (link.is_broken()) return false;
    if (sent_.empty()) return !is_ending_ && wait_for_more();
    if (!is_wanted()) {
        stop(session);
        return !link.is_broken();
    }
    bool has_room = !is_ending_ && sent_.size() < kPipelineDepthMax && !queue_.is_empty();
    if (has_room && !to_write) return true;
    // The fiber's own token ends only with the runtime; the callers are then told.
    if (!link.wait_with_event(wake_, to_write, Deadline::never())) {
        link.tidy();
        link.set_broken();
        return false;
    }
    return true;
}

bool SharedPipeline::wait_for_more() {
    if (!queue_.is_empty()) return true;
    return wake_.wait_until(Deadline::after(kLinger)).has_value();
}

// ---------------------------------------------------------------- sending

void SharedPipeline::send_more(Session& session) {
    while (!is_ending_ && sent_.size() < kPipelineDepthMax && !session.link().is_broken()) {
        RequestPointer request = queue_.take();
        if (!request) return;
        if (request->is_wanted()) send(session, std::move(request));
    }
}

void SharedPipeline::send(Session& session, RequestPointer request) {
    WEFT_ASSERT(request->known, "only known statements are carried");
    Link& link = session.link();
    Result<Session::Queued> queued =
        session.queue_known(request->key, request->text, request->values, *request->known);
    if (!queued) {
        // Nothing of the statement was sent, unless the connection is lost.
        request->settle(queued.error());
        return;
    }
    bool is_first = sent_.empty();
    WEFT_ASSERT(sent_.size() < kPipelineDepthMax, "the depth of a pipeline is bounded");
    sent_.push_back({.request = std::move(request),
                     .form = std::move(queued->form),
                     .before = queued->before,
                     .is_preparing = queued->before > 0});
    if (!link.sync()) return link.set_broken();
    WEFT_ASSERT(link.pending_syncs() == sent_.size(), "each statement has its own sync");
    if (!is_first) return;
    head_begun_ = Clock::now();
    request_rows_singly(link.pg());
}

// ---------------------------------------------------------------- answers

void SharedPipeline::read(Session& session) {
    Link& link = session.link();
    if (sent_.empty()) return;
    // If the connection is lost, the results report it.
    static_cast<void>(link.read_available());
    int nulls = 0;
    while (!sent_.empty() && link.has_next()) {
        turn::may_wait("postgres.receive", this);
        ResultPointer result(PQgetResult(link.pg()));
        nulls = result ? 0 : nulls + 1;
        // The server has answered everything but a sync.
        if (nulls == Link::kNullsInARowMax) link.set_broken();
        if (result) take_result(session, result.get());
        if (link.is_broken()) return;
        // The row mode has to be set for each statement when it becomes the next one.
        bool is_end = !result || PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC;
        if (!result && !sent_.empty() && sent_.front().before > 0) --sent_.front().before;
        if (is_end && !sent_.empty()) request_rows_singly(link.pg());
    }
}

void SharedPipeline::take_result(Session& session, const PGresult* result) {
    WEFT_ASSERT(!sent_.empty(), "results are read only while a statement is under way");
    Sent& head = sent_.front();
    switch (PQresultStatus(result)) {
    case PGRES_PIPELINE_SYNC: session.link().note_sync(); return finish_head(session);
    case PGRES_FATAL_ERROR:
        if (!head.failure) head.failure = to_error(result);
        return;
    case PGRES_PIPELINE_ABORTED: return;
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
#ifdef LIBPQ_HAS_CHUNK_MODE
    case PGRES_TUPLES_CHUNK:
#endif
        // The result of the preparation itself.
        if (head.before == 1) head.is_preparing = false;
        if (head.before > 0) return;
        take_rows(head, result);
        return session.note_tag(result, head.outcome);
    // The statements that are carried have no other results.
    default: return session.link().set_broken();
    }
}

void SharedPipeline::take_rows(Sent& head, const PGresult* result) {
    if (head.failure || head.drops_rows || !head.request->is_wanted()) return;
    if (!head.form.columns && PQnfields(result) > 0) head.form.take_from(result);
    if (head.outcome.rows.columns().empty() && head.form.columns)
        head.outcome.rows = Rows(head.form.columns);
    if (PQntuples(result) == 0) return;
    if (!head.form.fits(result)) {
        // The table was changed since the statement was described.
        head.failure = data::to_error("postgres", "0A000", "the columns have changed");
        return;
    }
    const RowLimit& limit = head.request->limit;
    for (int row = 0; row < PQntuples(result); ++row) {
        WEFT_ASSERT(head.outcome.rows.size() <= limit.rows_max, "the limit holds");
        if (head.outcome.rows.size() >= limit.rows_max) {
            bool stops = limit.beyond == RowLimit::Beyond::Stop;
            // Stopping it at the server would undo its effects, so it is read to its end and
            // succeeds then.
            head.drops_rows = stops && may_have_effects(head.request->text);
            if (head.drops_rows) return;
            queue_.forget(head.request->key);
            if (stops) return head.request->settle(std::move(head.outcome));
            return head.request->settle(row_limit_error("postgres", limit.rows_max));
        }
        Result<void> added = head.form.append(result, row, head.outcome.rows);
        if (added) continue;
        head.failure = added.error();
        return;
    }
}

void SharedPipeline::finish_head(Session& session) {
    WEFT_ASSERT(!sent_.empty(), "a sync belongs to a statement");
    Sent head = std::move(sent_.front());
    sent_.pop_front();
    WEFT_ASSERT(session.link().is_broken() || session.link().pending_syncs() == sent_.size(),
                "each statement has its own sync");
    Instant now = Clock::now();
    if (now - head_begun_ > kSlow) queue_.forget(head.request->key);
    head_begun_ = now;
    if (!head.failure) return head.request->settle(std::move(head.outcome));
    bool stale = session.forget_if_stale(head.request->key, *head.failure);
    if (stale || head.is_preparing) {
        session.forget(head.request->key);
        queue_.forget(head.request->key);
    }
    head.request->stale = stale && head.request->is_wanted();
    head.request->settle(*head.failure);
}

// ---------------------------------------------------------------- ends

bool SharedPipeline::is_wanted() const {
    return std::ranges::any_of(sent_, [](const Sent& sent) { return sent.request->is_wanted(); });
}

void SharedPipeline::stop(Session& session) {
    WEFT_ASSERT(!is_wanted(), "a cancel hits whatever runs, so nobody may wait for it");
    Link& link = session.link();
    link.tidy();
    for (const Sent& sent : sent_) {
        if (sent.is_preparing) session.forget(sent.request->key);
    }
    sent_.clear();
    count();
    WEFT_ASSERT(link.is_broken() || link.pending_syncs() == 0, "a tidied link awaits no sync");
    if (!link.is_broken() && !link.enter_pipeline()) link.set_broken();
}

void SharedPipeline::fail_all() {
    for (Sent& sent : sent_) sent.request->settle(sent.failure ? *sent.failure : connection_lost());
    sent_.clear();
    count();
}

}  // namespace weft::data::postgres
