#include "weft/api/serve/server_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/api/fetch/fetch_client.h"
#include "weft/api/serve/body_queue.h"
#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/http/routing/middleware.h"
#include "weft/js/describe.h"

namespace weft::api {
namespace {

// Checking whether a promise can still be settled needs a full garbage collection, which takes
// milliseconds. While requests wait and none of them is hung, the checks become less frequent.
constexpr Nanoseconds kHungCheckPauseMin = std::chrono::seconds(1);
constexpr Nanoseconds kHungCheckPauseMax = std::chrono::seconds(16);

// How long the loop may hand requests of one poll to the script before it serves its other
// connections.
constexpr Nanoseconds kBatchTime = std::chrono::milliseconds(5);

constexpr std::string_view kClientGone = "The client went away";

// Limit on the path in a line of the log: clients choose its length.
constexpr std::size_t kPathBytesMax = 256;

// "GET /users (request 41d2...)". Without the query, which often contains secrets.
std::string name_of(ServerCall& call) {
    const http::Request& request = *call.request;
    if (call.id.empty()) {
        std::string_view given = request.header("x-request-id").value_or("");
        call.id = http::is_request_id(given)
                      ? std::string(given)
                      : format("{:016x}", env::random(RandomStream::Workload));
    }
    std::string_view target = request.target();
    return format("{} {} (request {})", request.method(),
                  target.substr(0, std::min(target.find('?'), kPathBytesMax)), call.id);
}

}  // namespace

FailureText text_of(CallFailure failure) {
    switch (failure) {
    case CallFailure::Threw: return {500, "The handler threw an error", "HandlerThrew", ""};
    case CallFailure::NotAResponse:
        return {500, "The handler did not return a Response", "NotAResponse", ""};
    case CallFailure::Unsendable:
        return {500, "The handler returned a Response that cannot be sent", "UnsendableResponse",
                ""};
    case CallFailure::TooLate:
        return {500, "Promise did not resolve in time", "HandlerDeadline",
                "limits.handlerDeadlineMs"};
    case CallFailure::Hung:
        return {500, "Promise did not resolve in time: nothing is pending that could settle it",
                "HandlerHung", ""};
    case CallFailure::CpuLimit:
        return {500, "The handler computed too long and was ended", "CpuLimit", "limits.cpuMs"};
    case CallFailure::MicrotaskLimit:
        return {500, "The handler ran too many microtasks in one turn and was ended",
                "MicrotaskLimit", "limits.microtasks"};
    case CallFailure::HeapLimit:
        return {500, "The application ran out of memory", "HeapLimit", "limits.heapMiB"};
    case CallFailure::TooMany:
        return {503, "The application has too many requests at once", "TooManyRequests", ""};
    case CallFailure::Closed: return {503, "The application is closing", "Closed", ""};
    }
    std::unreachable();
}

ServerCalls::ServerCalls(js::Isolate& isolate, FetchClient& fetches,
                         const ApplicationLimits& limits, ApplicationCounters& counters,
                         CancelToken app)
    : isolate_(isolate),
      fetches_(fetches),
      limits_(limits),
      counters_(counters),
      app_(std::move(app)),
      deadline_timer_(deadline_record_),
      linger_timer_(linger_record_) {
    deadline_record_.calls = linger_record_.calls = this;
    deadline_record_.run = [](Completion& record) {
        ServerCalls& self = *static_cast<Record&>(record).calls;
        self.deadline_timer_.begin_run();
        self.check_deadlines();
    };
    linger_record_.run = [](Completion& record) {
        ServerCalls& self = *static_cast<Record&>(record).calls;
        self.linger_timer_.begin_run();
        self.check_lingering();
    };
    v8::HandleScope handles(isolate.v8());
    auto keep = [&](v8::Global<v8::Function>& kept, std::string_view name) {
        v8::Local<v8::Value> function;
        bool found = isolate.hook_of("serve", name).ToLocal(&function);
        WEFT_ASSERT(found, "the prelude has the hooks of serve");
        kept.Reset(isolate.v8(), function.As<v8::Function>());
    };
    keep(dispatch_, "dispatch");
    keep(abort_, "abort");
    keep(warn_, "warn");
    keep(end_, "end");
    keep(expire_, "expire");
}

ServerCalls::~ServerCalls() { WEFT_ASSERT(calls_.size() == 0, "all requests are over"); }

// ---------------------------------------------------------------- requests

void ServerCall::reset() {
    request = nullptr;
    body.reset();
    kept_body.reset();
    body_taken = answered = wants_signal = watched = false;
    held = waits = 0;
    own_deadline.reset();
    id.clear();
    lingers = false;
    body_error.reset();
    context = {};
    reply = {};
    fiber = nullptr;
    tasks.reset();
    outgoing.reset();
    forward_cancel.reset();
    fetches.clear();
    promise.Reset();
}

std::unique_ptr<ServerCall> ServerCalls::new_call() {
    if (spare_.empty()) return std::make_unique<ServerCall>();
    std::unique_ptr<ServerCall> call = std::move(spare_.back());
    spare_.pop_back();
    WEFT_DASSERT(!call->request && !call->answered && call->held == 0 && call->waits == 0 &&
                     !call->fiber && !call->tasks && !call->outgoing && call->fetches.empty(),
                 "a reused call is in its initial state");
    return call;
}

Result<double> ServerCalls::open(std::unique_ptr<ServerCall> call) {
    if (closed_) return Error(ErrorKind::Closed, "the application is closing");
    ++counters_.requests;
    Ticket ticket = WEFT_TRY(calls_.insert(std::move(call)));
    return js::TaskTable::to_number(ticket);
}

http::LoopOutcome ServerCalls::begin(http::Request& request, http::LoopCall& loop_call) {
    std::optional<std::string_view> body = loop_call.take_body();
    if (!body) return http::ByFiber{};
    std::unique_ptr<ServerCall> call = new_call();
    ServerCall& opened = *call;
    opened.request = &request;
    opened.body = body;
    opened.begun = loop_call.begun();
    Result<double> number = open(std::move(call));
    if (!number) return refused_response(number.error());
    opened.reply = loop_call.keep([this, number = *number](http::KeptEnd) { client_gone(number); });
    // Two handlers that compute without end must not block the worker's other connections twice as
    // long as one: the worker serves those between two jobs.
    bool is_next = std::exchange(batch_begun_, loop_call.begun()) == loop_call.begun();
    if (is_next && Clock::now() - batch_begun_ > kBatchTime) {
        isolate_.post([this, number = *number] { dispatch(number); });
        return http::Kept{};
    }
    dispatch(*number);
    if (isolate_.is_idle()) on_idle();
    return http::Kept{};
}

Result<http::Response> ServerCalls::handle(http::Request& request, async::Context& context) {
    std::unique_ptr<ServerCall> call = new_call();
    ServerCall& opened = *call;
    opened.request = &request;
    opened.context = context.token();
    opened.begun = Clock::now();
    Result<double> in_table = open(std::move(call));
    if (!in_table) return refused_response(in_table.error());
    double number = *in_table;
    Waiter waiter(WaitReason::Operation, this);
    FiberCall fiber{waiter.ref(), {}};
    opened.fiber = &fiber;
    isolate_.post([this, number] { dispatch(number); });
    Result<void> waited = waiter.to_result(waiter.wait());
    if (fiber.outcome) return std::move(*fiber.outcome);
    // The client went away. After the script was told, nobody may use this frame or the request any
    // more.
    if (ServerCall* open = find(number)) {
        open->fiber = nullptr;
        open->answered = true;
        Waiter told(WaitReason::Job, this, Cancellable::No);
        isolate_.post([this, number, waiting = told.ref()] {
            client_gone(number);
            if (waiting.try_claim(Wake::Ready)) waiting.resume();
        });
        static_cast<void>(told.wait());
    }
    return waited.error();
}

void ServerCalls::dispatch(double number) {
    ServerCall* asked = find(number);
    if (!asked || asked->answered) return;
    js::TurnEnd end = call_hook(dispatch_, number, {});
    ServerCall* call = find(number);
    if (!call || call->answered) return;
    switch (end) {
    case js::TurnEnd::TooLong: return give_up(number, CallFailure::CpuLimit);
    case js::TurnEnd::MicrotaskLimit: return give_up(number, CallFailure::MicrotaskLimit);
    case js::TurnEnd::HeapFull:
    case js::TurnEnd::Condemned: return give_up(number, CallFailure::HeapLimit);
    case js::TurnEnd::Threw: return give_up(number, CallFailure::Threw);
    case js::TurnEnd::Done: break;
    }
    if (drains_) warn_of_drain(number);
    // A request that was posted may come here behind requests that have begun after it.
    Waiting waiting{call->begun + limits_.handler_deadline, js::TaskTable::to_ticket(number)};
    auto place = waiting_.end();
    while (place != waiting_.begin() && std::prev(place)->deadline > waiting.deadline) --place;
    bool is_first = place == waiting_.begin();
    waiting_.insert(place, waiting);
    if (is_first) arm_deadline();
}

void ServerCalls::on_idle() {
    static_cast<void>(next_deadline());  // removes requests that were answered
    if (!waiting_.empty()) return check_hung();
    hung_check_pause_ = kHungCheckPauseMin;
}

// ---------------------------------------------------------------- responses

ServerCall* ServerCalls::find(double number) {
    std::unique_ptr<ServerCall>* found = calls_.find(js::TaskTable::to_ticket(number));
    return found ? found->get() : nullptr;
}

void ServerCalls::answer(double number, http::Response&& response) {
    ServerCall* call = find(number);
    if (!call || call->answered) {
        ++counters_.late;
        return;
    }
    deliver(number, *call, std::move(response));
}

void ServerCalls::deliver(double number, ServerCall& call, http::Response&& response) {
    call.answered = true;
    call.promise.Reset();
    // A streamed response may still read the request's body, whose buffer is lost with the answer,
    // so the body is copied. A script that has read all of the body must still be able to find its
    // end, so an empty body remains.
    if (call.body && call.body_taken) {
        call.body = std::string_view();
    } else if (call.outgoing && call.body) {
        call.kept_body = std::make_unique<std::string>(*call.body);
        call.body = *call.kept_body;
    } else {
        call.body.reset();
    }
    if (FiberCall* fiber = std::exchange(call.fiber, nullptr)) {
        fiber->outcome.emplace(std::move(response));
        if (fiber->waiter.try_claim(Wake::Ready)) fiber->waiter.resume();
        // The request lives until the response was sent; body_ended() resets it for a streamed one.
        if (!call.outgoing) call.request = nullptr;
    } else {
        // Returns false if the client is gone; client_gone() was or will be called for that.
        static_cast<void>(call.reply.answer(std::move(response)));
        call.request = nullptr;
    }
    ++counters_.answered;
    end_if_over(number, call);
}

void ServerCalls::fail(double number, CallFailure failure) {
    ServerCall* call = find(number);
    if (!call || call->answered) return;
    count_failure(*call, failure);
    answer(number, failed_response(*call, failure));
}

void ServerCalls::fail_body(double number) {
    ServerCall* call = find(number);
    if (!call || call->answered) return;
    // Only a body that is read in pieces can fail, and then a fiber waits for the answer.
    if (!call->fiber || !call->body_error) return fail(number, CallFailure::Threw);
    FiberCall* fiber = std::exchange(call->fiber, nullptr);
    call->answered = true;
    call->request = nullptr;
    call->promise.Reset();
    fiber->outcome.emplace(*call->body_error);
    if (fiber->waiter.try_claim(Wake::Ready)) fiber->waiter.resume();
    end_if_over(number, *call);
}

std::string ServerCalls::describe(double number) {
    ServerCall* call = find(number);
    return call && call->request ? name_of(*call) : std::string();
}

http::Response ServerCalls::refused_response(const Error& error) const {
    switch (error.kind()) {
    case ErrorKind::Limit: return failed_response({}, CallFailure::TooMany);
    case ErrorKind::OutOfMemory: return failed_response({}, CallFailure::HeapLimit);
    default: return failed_response({}, CallFailure::Closed);
    }
}

http::Response ServerCalls::failed_response(const ServerCall& call, CallFailure failure) const {
    FailureText what = text_of(failure);
    http::Response response =
        http::Response::text(std::string(what.text), what.status).with("weft-error", what.code);
    if (!call.id.empty()) response.headers.set("x-request-id", call.id);
    return response;
}

void ServerCalls::count_failure(ServerCall& call, CallFailure failure) {
    ++counters_.failed;
    if (!call.request) return;
    FailureText what = text_of(failure);
    std::string limit;
    if (failure == CallFailure::TooLate && call.own_deadline)
        limit = ": the deadline of its route";
    else if (!what.key.empty())
        limit = format(": {}", what.key);
    log(LogLevel::Warn, "{}: {}{}", name_of(call), what.text, limit);
}

// The script is told first, while it can still read the request. The request counts as answered, so
// an answer of the script at this point is refused.
void ServerCalls::give_up(double number, CallFailure failure) {
    ServerCall* call = find(number);
    if (!call || call->answered) return;
    count_failure(*call, failure);
    call->answered = true;
    call_hook(abort_, number, text_of(failure).text);
    call = find(number);
    if (call && (call->fiber || call->reply))
        deliver(number, *call, failed_response(*call, failure));
    else if (call)
        end_if_over(number, *call);
}

void ServerCalls::hold(double number) {
    if (ServerCall* call = find(number)) ++call->held;
}

bool ServerCalls::release(double number) {
    ServerCall* call = find(number);
    if (!call) return true;
    WEFT_ASSERT(call->held > 0, "a hold is released once");
    --call->held;
    bool is_last = call->answered && call->held == 0;
    end_if_over(number, *call);
    return is_last;
}

void ServerCalls::hold_for_wait(double number) {
    if (ServerCall* call = find(number)) {
        ++call->held;
        ++call->waits;
    }
}

bool ServerCalls::release_wait(double number) {
    if (ServerCall* call = find(number)) {
        WEFT_ASSERT(call->waits > 0 && call->waits <= call->held,
                    "every wait is a hold, and is released once");
        --call->waits;
    }
    return release(number);
}

void ServerCalls::terminated(double number, js::TurnEnd end) {
    CallFailure failure =
        end == js::TurnEnd::MicrotaskLimit ? CallFailure::MicrotaskLimit : CallFailure::CpuLimit;
    if (ServerCall* call = find(number)) {
        if (!call->answered)
            isolate_.post([this, number, failure] { give_up(number, failure); });
        else if (call->outgoing)
            call->outgoing->fail(Error(ErrorKind::TimedOut, text_of(failure).text));
    }
    check_for_lost_ = true;
    ++repairs_under_way_;
    isolate_.post([this] {
        --repairs_under_way_;
        check_lost();
    });
}

void ServerCalls::body_ended(double number, bool cut_off) {
    ServerCall* call = find(number);
    if (!call) return;
    call->request = nullptr;
    isolate_.post([this, number, cut_off] {
        if (cut_off)
            call_hook(abort_, number, kClientGone);
        else
            call_hook(end_, number, {});
        release(number);
    });
}

// Removes a request that was answered and that nothing holds: its tasks are cancelled. The script
// drops its timers.
void ServerCalls::end_if_over(double number, ServerCall& call) {
    // While give_up() tells the script, the answer is still to be delivered.
    if (!call.answered || call.fiber || call.reply) return;
    if (call.held == 0) return remove(number);
    if (call.held != call.waits || std::exchange(call.lingers, true)) return;
    lingering_.push_back({Clock::now() + limits_.wait_until, js::TaskTable::to_ticket(number)});
    if (lingering_.size() == 1) linger_timer_.set(lingering_.front().deadline);
}

void ServerCalls::remove(double number) {
    std::optional<std::unique_ptr<ServerCall>> taken =
        calls_.take(js::TaskTable::to_ticket(number));
    WEFT_ASSERT(taken.has_value(), "a request is removed once");
    std::unique_ptr<ServerCall> call = std::move(*taken);
    WEFT_ASSERT(call->answered && !call->fiber && !call->reply,
                "a request is removed when its answer was delivered or nobody waits for it");
    if (call->tasks) call->tasks->cancel();
    for (double fetch : call->fetches) fetches_.drop(fetch);
    if (calls_.size() == 0 && on_empty) on_empty();
    if (spare_.size() >= kSpareMax) return;
    call->reset();
    spare_.push_back(std::move(call));
}

void ServerCalls::owns_fetch(double number, double fetch) {
    if (number == 0) {
        if (fetches_.mark_unowned(fetch)) isolate_.post([this] { isolate_.collect_garbage(); });
        return;
    }
    if (ServerCall* call = find(number))
        call->fetches.push_back(fetch);
    else
        fetches_.drop(fetch);
}

Instant ServerCalls::deadline_of(const ServerCall& call) const {
    return call.own_deadline.value_or(call.begun + limits_.handler_deadline);
}

double ServerCalls::remaining_ms(const ServerCall& call) const {
    Nanoseconds left = deadline_of(call) - Clock::now();
    return std::max(0.0, static_cast<double>(left.count()) / 1e6);
}

void ServerCalls::set_deadline(double number, Nanoseconds span) {
    ServerCall* call = find(number);
    if (!call || call->answered) return;
    Instant deadline = call->begun + span;
    if (deadline >= deadline_of(*call)) return;
    call->own_deadline = deadline;
    own_deadlines_.emplace(deadline, js::TaskTable::to_ticket(number));
    arm_deadline();
}

// Call in the loop and not within a turn. The script is told first, because it may still read the
// request.
void ServerCalls::client_gone(double number) {
    ServerCall* call = find(number);
    if (!call) return;
    call->answered = true;
    call_hook(abort_, number, kClientGone);
    call = find(number);
    if (!call) return;
    call->request = nullptr;
    call->body.reset();
    end_if_over(number, *call);
}

// Posted as a job, because the caller may be within a turn.
void ServerCalls::abort_signal(double number, std::string_view why) {
    isolate_.post([this, number, why = std::string(why)] { call_hook(abort_, number, why); });
}

js::TurnEnd ServerCalls::call_hook(const v8::Global<v8::Function>& hook, double number,
                                   std::string_view text) {
    return isolate_.turn([&](v8::Local<v8::Context> context) {
        v8::Isolate* engine = isolate_.v8();
        v8::Local<v8::Value> arguments[2] = {v8::Number::New(engine, number)};
        int count = 1;
        if (!text.empty()) arguments[count++] = js::to_v8(engine, text);
        js::seen_by_turn(hook.Get(engine)->Call(context, v8::Undefined(engine), count, arguments));
    });
}

std::optional<CancelToken> ServerCalls::token_of(double number) {
    if (number == 0) return app_;
    ServerCall* call = find(number);
    if (!call) return std::nullopt;
    if (!call->tasks) call->tasks.emplace(app_);
    return call->tasks->token();
}

// ---------------------------------------------------------------- deadlines and hung requests

// The earliest deadline of the requests that are not answered yet.
std::optional<Instant> ServerCalls::next_deadline() {
    auto is_open = [this](Ticket ticket) {
        std::unique_ptr<ServerCall>* call = calls_.find(ticket);
        return call && !(*call)->answered;
    };
    while (!waiting_.empty() && !is_open(waiting_.front().ticket)) waiting_.pop_front();
    while (!own_deadlines_.empty() && !is_open(own_deadlines_.begin()->second))
        own_deadlines_.erase(own_deadlines_.begin());
    std::optional<Instant> next;
    if (!waiting_.empty()) next = waiting_.front().deadline;
    if (own_deadlines_.empty()) return next;
    return std::min(next.value_or(Instant::max()), own_deadlines_.begin()->first);
}

void ServerCalls::arm_deadline() {
    std::optional<Instant> next = next_deadline();
    if (next && check_for_lost_) next = std::min(*next, last_hung_check_ + kHungCheckPauseMin);
    if (next) deadline_timer_.set(*next);
}

void ServerCalls::check_deadlines() {
    Instant now = Clock::now();
    while (std::optional<Instant> next = next_deadline()) {
        if (*next > now) break;
        Ticket ticket{};
        if (!own_deadlines_.empty() && own_deadlines_.begin()->first == *next) {
            ticket = own_deadlines_.begin()->second;
            own_deadlines_.erase(own_deadlines_.begin());
        } else {
            WEFT_DASSERT(!waiting_.empty() && waiting_.front().deadline == *next,
                         "the next deadline is the first of one of the two queues");
            ticket = waiting_.front().ticket;
            waiting_.pop_front();
        }
        give_up(js::TaskTable::to_number(ticket), CallFailure::TooLate);
    }
    arm_deadline();
    check_lost();
    if (isolate_.is_idle()) on_idle();
}

// Ends the requests that waitUntil() has held for too long, with their signals, tasks and timers.
void ServerCalls::check_lingering() {
    Instant now = Clock::now();
    while (!lingering_.empty()) {
        if (!calls_.find(lingering_.front().ticket)) {
            lingering_.pop_front();
            continue;
        }
        if (lingering_.front().deadline > now) break;
        Ticket ticket = lingering_.front().ticket;
        lingering_.pop_front();
        double number = js::TaskTable::to_number(ticket);
        ++counters_.overstayed;
        log(LogLevel::Warn, "ctx.waitUntil() held a request for more than {} ms: it was ended",
            limits_.wait_until.count());
        call_hook(expire_, number, "waitUntil() took too long");
        if (find(number)) remove(number);
    }
    if (!lingering_.empty()) linger_timer_.set(lingering_.front().deadline);
}

void ServerCalls::watch_promise(double number, v8::Local<v8::Promise> promise) {
    ServerCall* call = find(number);
    if (!call) return;
    call->promise.Reset(isolate_.v8(), promise);
    call->promise.SetWeak();
    call->watched = true;
}

// Call when the isolate has nothing to do. A promise that a garbage collection removes can be
// settled by nobody.
void ServerCalls::check_hung() {
    if (!waits_for_promises()) return;
    Instant again = last_hung_check_ + (check_for_lost_ ? kHungCheckPauseMin : hung_check_pause_);
    if (Clock::now() >= again) return fail_hung();
    // check_deadlines() checks again at that time.
    deadline_timer_.set(std::min(again, next_deadline().value_or(again)));
}

bool ServerCalls::waits_for_promises() {
    bool any = false;
    calls_.for_each([&](Ticket, std::unique_ptr<ServerCall>& call) {
        any = any || (!call->answered && call->watched);
    });
    return any;
}

// When a drain is ended by force, reactions that belong to other requests are lost with it, even if
// the isolate is not idle. The microtasks that remain in V8's queue run first; a promise that is
// unsettled after that stays so for ever.
void ServerCalls::check_lost() {
    if (!check_for_lost_ || repairs_under_way_ > 0 || isolate_.is_condemned()) return;
    check_for_lost_ = waits_for_promises();
    if (!check_for_lost_) return;
    if (Clock::now() >= last_hung_check_ + kHungCheckPauseMin) return fail_hung();
    arm_deadline();
}

// Valid between two turns while V8's queue is empty. A promise that was collected can be settled by
// nobody. A promise that is settled although its request is not answered has lost its reaction.
bool ServerCalls::cannot_settle(const ServerCall& call) const {
    if (call.answered || !call.watched) return false;
    return call.promise.IsEmpty() ||
           call.promise.Get(isolate_.v8())->State() != v8::Promise::kPending;
}

void ServerCalls::fail_hung() {
    last_hung_check_ = Clock::now();
    check_for_lost_ = false;
    isolate_.collect_garbage();
    std::vector<double> hung;
    {
        v8::HandleScope handles(isolate_.v8());
        calls_.for_each([&](Ticket ticket, std::unique_ptr<ServerCall>& call) {
            if (cannot_settle(*call)) hung.push_back(js::TaskTable::to_number(ticket));
        });
    }
    hung_check_pause_ =
        hung.empty() ? std::min(2 * hung_check_pause_, kHungCheckPauseMax) : kHungCheckPauseMin;
    for (double number : hung) give_up(number, CallFailure::Hung);
}

void ServerCalls::drain() {
    calls_.for_each([&](Ticket ticket, std::unique_ptr<ServerCall>&) {
        warn_of_drain(js::TaskTable::to_number(ticket));
    });
}

// The script knows whether anybody listens to the signal.
void ServerCalls::warn_of_drain(double number) {
    isolate_.post([this, number] {
        if (find(number)) call_hook(warn_, number, "The server is shutting down");
    });
}

void ServerCalls::fail_all(CallFailure failure) {
    closed_ = failure == CallFailure::Closed || closed_;
    std::vector<double> open;
    calls_.for_each([&](Ticket ticket, std::unique_ptr<ServerCall>&) {
        open.push_back(js::TaskTable::to_number(ticket));
    });
    for (double number : open) {
        give_up(number, failure);
        ServerCall* call = find(number);
        if (!call) continue;
        if (call->outgoing) {
            call->outgoing->fail(Error(ErrorKind::Closed, "the application ended"));
            // The connection may be blocked by its client; the script must not wait for room
            // meanwhile.
            call->outgoing->abandon();
        }
        if (call->forward_cancel) call->forward_cancel->request();
        call->held = 0;
        end_if_over(number, *call);
    }
    waiting_.clear();
    own_deadlines_.clear();
    lingering_.clear();
    deadline_timer_.cancel();
    linger_timer_.cancel();
}

}  // namespace weft::api
