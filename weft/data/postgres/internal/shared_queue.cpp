#include "weft/data/postgres/internal/shared_queue.h"

#include <algorithm>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/shared_pipeline.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"

namespace weft::data::postgres {
namespace {

// When more statements are known than this, all are forgotten.
constexpr std::size_t kKnownMax = 1024;

}  // namespace

// ---------------------------------------------------------------- requests

void Request::settle(Result<Outcome> result) {
    if (!is_wanted()) return;
    WEFT_ASSERT(!outcome, "a statement is settled once");
    outcome.emplace(std::move(result));
    Phase waiting = Phase::Waiting;
    // Release: publishes the outcome to the caller, which acquires by the event or by abandon().
    if (phase.compare_exchange_strong(waiting, Phase::Settled, std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        done.set();
}

bool Request::abandon() {
    Phase waiting = Phase::Waiting;
    // Acquire: see settle().
    return phase.compare_exchange_strong(waiting, Phase::Abandoned, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
}

// ---------------------------------------------------------------- what is known

SharedQueue::~SharedQueue() {
    WEFT_ASSERT(serving_.empty(), "a pipeline that serves keeps its queue alive");
    WEFT_ASSERT(waiting_.empty(), "a caller keeps the queue alive while it waits");
}

KnownStatement SharedQueue::find(const std::string& key) const {
    SpinGuard guard(lock_);
    auto found = known_.find(key);
    return found == known_.end() ? nullptr : found->second;
}

void SharedQueue::learn(const std::string& key, KnownStatement known) {
    WEFT_ASSERT(known, "null means that a statement is not known");
    std::unordered_map<std::string, KnownStatement> old;
    SpinGuard guard(lock_);
    if (known_.size() >= kKnownMax) old.swap(known_);
    known_.insert_or_assign(key, std::move(known));
    WEFT_ASSERT(known_.size() <= kKnownMax, "what is known is bounded");
}

void SharedQueue::forget(const std::string& key) {
    SpinGuard guard(lock_);
    known_.erase(key);
}

// ---------------------------------------------------------------- callers

std::optional<Result<Outcome>> SharedQueue::carry(const RequestPointer& request) {
    WEFT_ASSERT(request->is_wanted(), "a request is carried once");
    if (!push(request)) return std::nullopt;
    Result<void> waited = wait_for(request);
    if (!waited && request->abandon()) {
        if (!withdraw(request)) wake_pipelines();
        return waited.error();
    }
    // It is run again only if the server has refused it before it began.
    if (request->stale) return std::nullopt;
    // Relaxed: a count.
    carried_.fetch_add(1, std::memory_order_relaxed);
    WEFT_ASSERT(request->outcome.has_value(), "a settled statement has an outcome");
    return std::move(request->outcome);
}

Result<void> SharedQueue::wait_for(const RequestPointer& request) {
    // A statement may wait to be sent for as long as a caller may wait for a connection.
    Result<void> done = request->done.wait_until(Deadline::after(pool_->options().acquire_timeout));
    if (done || done.error().kind() != ErrorKind::TimedOut) return done;
    WEFT_TRY(CancelToken::current().check());
    if (withdraw(request)) return too_late();
    return request->done.wait();
}

Error SharedQueue::too_late() const {
    return data::to_error("postgres", kPoolTimeoutState, "no connection in time");
}

bool SharedQueue::push(const RequestPointer& request) {
    SharedPipeline* least = nullptr;
    bool starts = false;
    {
        SpinGuard guard(lock_);
        if (closed_ || waiting_.size() >= pool_->options().waiters_max) return false;
        WEFT_ASSERT(serving_.size() <= pipelines_, "only counted pipelines serve");
        waiting_.push_back(request);
        std::size_t load = waiting_.size();
        for (SharedPipeline* pipeline : serving_) {
            load += pipeline->pending();
            if (!least || pipeline->pending() < least->pending()) least = pipeline;
        }
        starts = pipelines_ < pool_->options().connections_max && load > pipelines_ * kPipelineLoad;
        pipelines_ += starts;
        WEFT_ASSERT(pipelines_ > 0, "a queued statement has a pipeline to carry it");
        // Under the lock, because a pipeline leaves `serving_` before it is destroyed.
        if (least) least->wake();
    }
    // Without any pipeline nobody would carry the statement.
    if (starts && !start_pipeline()) {
        SpinGuard guard(lock_);
        if (pipelines_ > 0) return true;
        return std::erase(waiting_, request) == 0;
    }
    return true;
}

bool SharedQueue::withdraw(const RequestPointer& request) {
    SpinGuard guard(lock_);
    std::size_t erased = std::erase(waiting_, request);
    WEFT_ASSERT(erased <= 1, "a statement is queued once");
    return erased > 0;
}

bool SharedQueue::start_pipeline() {
    // In the background context, because it outlives the caller that starts it.
    async::Context root = async::Context::background();
    Result<void> started =
        spawn_detached([self = shared_from_this()] { SharedPipeline(*self).run(); },
                       [self = shared_from_this()](const Error& error) { self->give_up(error); },
                       {.name = "shared statements", .token = root.token().state()});
    if (started) return true;
    SpinGuard guard(lock_);
    WEFT_ASSERT(pipelines_ > 0, "the pipeline that did not start is still counted");
    --pipelines_;
    return false;
}

void SharedQueue::wake_pipelines() {
    SpinGuard guard(lock_);
    for (SharedPipeline* pipeline : serving_) pipeline->wake();
}

void SharedQueue::close() {
    SpinGuard guard(lock_);
    WEFT_ASSERT(!closed_, "the owner closes once");
    closed_ = true;
    for (SharedPipeline* pipeline : serving_) pipeline->wake();
}

// ---------------------------------------------------------------- pipelines

RequestPointer SharedQueue::take() {
    SpinGuard guard(lock_);
    if (waiting_.empty()) return nullptr;
    RequestPointer request = std::move(waiting_.front());
    waiting_.pop_front();
    return request;
}

bool SharedQueue::is_empty() const {
    SpinGuard guard(lock_);
    return waiting_.empty();
}

void SharedQueue::join(SharedPipeline& pipeline) {
    SpinGuard guard(lock_);
    serving_.push_back(&pipeline);
    WEFT_ASSERT(serving_.size() <= pipelines_, "only counted pipelines serve");
}

void SharedQueue::leave(SharedPipeline& pipeline) {
    SpinGuard guard(lock_);
    std::size_t erased = std::erase(serving_, &pipeline);
    WEFT_ASSERT(erased == 1, "a pipeline leaves once");
}

// True if callers other than pipelines wait for a connection, or if the pool or the queue is
// closed.
bool SharedQueue::has_to_yield() const {
    // Relaxed: a momentary value that is read again and again.
    if (pool_->waiting() > acquiring_.load(std::memory_order_relaxed)) return true;
    if (pool_->is_closed() || !CancelToken::current().check()) return true;
    SpinGuard guard(lock_);
    return closed_;
}

Result<Lease> SharedQueue::acquire() {
    // Relaxed: as above.
    acquiring_.fetch_add(1, std::memory_order_relaxed);
    Result<Lease> lease = pool_->acquire("shared statements");
    acquiring_.fetch_sub(1, std::memory_order_relaxed);
    return lease;
}

bool SharedQueue::try_continue() {
    SpinGuard guard(lock_);
    WEFT_ASSERT(pipelines_ > 0, "this pipeline is still counted");
    if (!waiting_.empty()) return true;
    --pipelines_;
    return false;
}

void SharedQueue::give_up(const Error& error) {
    std::deque<RequestPointer> left;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(pipelines_ > 0, "this pipeline is still counted");
        // Other pipelines may still get a connection.
        if (--pipelines_ == 0) left.swap(waiting_);
    }
    for (const RequestPointer& request : left) request->settle(error);
}

}  // namespace weft::data::postgres
