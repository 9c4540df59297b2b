#include "weft/http/server/loop_handler.h"

#include "weft/base/assert.h"
#include "weft/http/server/internal/connection.h"
#include "weft/http/server/internal/core.h"
#include "weft/http/server/internal/exchange.h"
#include "weft/http/server/internal/loop_request.h"

namespace weft::http {

// ---------------------------------------------------------------- the reply

Reply::Reply(LoopRequest& request) : request_(&request) {
    WEFT_ASSERT(!request.reply, "a request has one reply");
    request.reply = this;
}

Reply::Reply(Reply&& other) noexcept : request_(other.detach()) {
    if (request_) request_->reply = this;
}

Reply& Reply::operator=(Reply&& other) noexcept {
    if (this == &other) return *this;
    if (request_) answer(Error(ErrorKind::Closed, "a request was dropped without an answer"));
    request_ = other.detach();
    if (request_) request_->reply = this;
    return *this;
}

Reply::~Reply() {
    if (request_) answer(Error(ErrorKind::Closed, "a request was dropped without an answer"));
}

LoopRequest* Reply::detach() {
    WEFT_DASSERT(!request_ || request_->reply == this, "reply and request point to each other");
    if (request_) request_->reply = nullptr;
    return std::exchange(request_, nullptr);
}

bool Reply::answer(Response&& response) {
    LoopRequest* request = detach();
    if (request) request->answer(std::move(response));
    return request != nullptr;
}

bool Reply::answer(const Error& error) {
    LoopRequest* request = detach();
    if (request) request->answer(error);
    return request != nullptr;
}

// ---------------------------------------------------------------- the call

async::Context& LoopCall::context() {
    WEFT_DASSERT(request_.state == LoopRequest::State::Called, "a LoopCall is for the call only");
    return request_.context();
}

Instant LoopCall::begun() const { return request_.begun; }

std::optional<std::string_view> LoopCall::take_body() {
    WEFT_DASSERT(request_.state == LoopRequest::State::Called, "a LoopCall is for the call only");
    IncomingBody& body = request_.exchange->body;
    if (body.size() == 0U) return std::string_view();
    return body.take_whole();
}

Reply LoopCall::keep(OnEnd on_end) {
    WEFT_ASSERT(request_.state == LoopRequest::State::Called, "a LoopCall is for the call only");
    WEFT_ASSERT(!request_.was_kept, "a request is kept once");
    request_.was_kept = true;
    request_.on_end = std::move(on_end);
    return Reply(request_);
}

LoopHandler never_waits(Handler handler) {
    return [handler = std::move(handler)](Request& request, LoopCall& call) -> LoopOutcome {
        return handler(request, call.context());
    };
}

// ---------------------------------------------------------------- the request

async::Context& LoopRequest::context() {
    Nanoseconds time = connection->limits().request_time;
    if (time == Nanoseconds::max()) return exchange->scope->lend_context();
    if (!limited)
        limited = exchange->scope->lend_context().with_deadline(Deadline::after(time, begun));
    return limited->context;
}

void LoopRequest::answer(Response&& response) {
    check_answer();
    outcome.emplace(std::move(response));
    if (state == State::Kept) connection->queue_for_loop();
}

void LoopRequest::answer(const Error& error) {
    check_answer();
    outcome.emplace(error);
    if (state == State::Kept) connection->queue_for_loop();
}

void LoopRequest::check_answer() const {
    WEFT_ASSERT(state != State::None && !outcome, "a request is answered once");
    WEFT_DASSERT(connection->is_on_its_worker(), "a reply is used on the worker of its request");
}

void LoopRequest::detach_reply() {
    if (reply) reply->detach();
}

void LoopRequest::clear() {
    WEFT_DASSERT(!has_permit, "a request gives its permit back before it is over");
    // Relaxed: for the assertion; resume_kept() has seen the end of the fiber.
    WEFT_DASSERT(sending.load(std::memory_order_relaxed) == Sending::No,
                 "a fiber still sends for it");
    detach_reply();
    WEFT_DASSERT(!reply);
    state = State::None;
    was_kept = has_failed_to_send = false;
    request.reset();
    if (limited) limited.reset();
    if (outcome) outcome.reset();
    if (on_end) on_end = nullptr;
}

void LoopRequest::Listener::on_cancel(CancelListener& listener, CancelReason) {
    static_cast<Listener&>(listener).connection->queue_for_loop();
}

}  // namespace weft::http
