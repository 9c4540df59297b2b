// ServerCalls: the requests that an isolate is answering.
//
// A script knows a request by a number, which is a ticket: when the request is over, the number
// finds nothing. A request is answered exactly once: by the script, or by this class when the
// handler failed, took too long or the client went away. What the script started for it (its tasks
// and timers) ends when the response has been sent, unless ctx.waitUntil() holds the request.
//
// Owning isolate only, unless said otherwise.
#pragma once

#include <v8.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/host.h"
#include "weft/api/serve/flat_headers.h"
#include "weft/base/ticket.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/schedule/loop_timer.h"
#include "weft/fiber/waiter.h"
#include "weft/http/request.h"
#include "weft/js/binding.h"
#include "weft/js/isolate.h"
#include "weft/js/tasks.h"

namespace weft::api {

class BodyQueue;
class FetchClient;

// Why a request was not answered by its handler. Each value has a status, a text and a code.
enum class CallFailure : std::uint8_t {
    Threw,
    NotAResponse,
    Unsendable,
    TooLate,  // pending at its deadline
    Hung,     // pending, and nothing remains that could settle it
    CpuLimit,
    MicrotaskLimit,
    HeapLimit,
    TooMany,  // the isolate has as many requests as it may have
    Closed,   // the application is closing
};
struct FailureText {
    std::uint16_t status;
    std::string_view text;
    std::string_view code;
    std::string_view key;  // the name of the limit that was reached; may be empty
};
FailureText text_of(CallFailure failure);

// One request.
struct ServerCall {
    http::Request* request = nullptr;        // null once the request was answered
    std::optional<std::string_view> body;    // the whole body, in the server's buffer
    std::unique_ptr<std::string> kept_body;  // copy of the body for a streamed response
    bool body_taken = false;
    bool answered = false;
    std::optional<Error> body_error;  // why the body could not be read
    bool wants_signal = false;        // the script uses request.signal
    unsigned held = 0;                // holds by waitUntil() and by the response's body or socket
    unsigned waits = 0;               // those among `held` that are by waitUntil()
    bool lingers = false;             // only waitUntil() holds it, within its time limit
    Instant begun{};
    std::optional<Instant> own_deadline;  // set by its route
    std::string id;                       // its name for the log and the client; made on first use
    bool watched = false;                 // `promise` was set
    CancelToken context;                  // the server's context of this request
    http::Reply reply;                    // if the request came from the loop
    struct FiberCall* fiber = nullptr;    // if the request came from a fiber
    std::optional<CancelSource> tasks;    // parent of its tasks; made on first use
    std::shared_ptr<BodyQueue> outgoing;  // body of a streamed response
    // For a fetch's response that is forwarded to the client. Its owners are the body of the
    // response and this member.
    std::shared_ptr<js::TaskCancel> forward_cancel;
    std::vector<double> fetches;      // responses that the request has asked for
    v8::Global<v8::Promise> promise;  // returned by the handler; a weak handle

    // Restores the initial state, for the next request.
    void reset();
};

// On the stack of the connection's fiber, which waits for the answer.
struct FiberCall {
    WaitRef waiter;
    std::optional<Result<http::Response>> outcome;
};

class ServerCalls {
public:
    ServerCalls(js::Isolate& isolate, FetchClient& fetches, const ApplicationLimits& limits,
                ApplicationCounters& counters, CancelToken app);
    ~ServerCalls();
    ServerCalls(const ServerCalls&) = delete;
    ServerCalls& operator=(const ServerCalls&) = delete;

    // In the worker's loop: calls the handler at once.
    http::LoopOutcome begin(http::Request& request, http::LoopCall& call);
    // On a fiber of the worker: hands the request over to the loop and waits for the answer.
    Result<http::Response> handle(http::Request& request, async::Context& context);

    // Fails every request that is not answered yet. With Closed, no more requests are accepted.
    void fail_all(CallFailure failure);
    // Tells the requests that the server drains.
    void drain();
    // Also tells the requests that are still to come: they arrived before the drain and waited for
    // this isolate.
    void drain_from_now() { drains_ = true; }
    // The isolate has nothing to do, so a promise that is still pending may stay pending for ever.
    void on_idle();
    std::size_t in_flight() const { return calls_.size(); }
    bool is_empty() const { return calls_.size() == 0; }
    // Called when the last request is over, by any function that ends a request.
    std::function<void()> on_empty;

    // The parent token of the tasks of a request; nothing when the request is over. For the
    // isolate.
    std::optional<CancelToken> token_of(double number);

    // ---- for the native functions
    ServerCall* find(double number);
    // "GET /users (request 41d2...)"; empty when the request is over or does not exist.
    std::string describe(double number);
    void answer(double number, http::Response&& response);
    void fail(double number, CallFailure failure);
    // The handler has failed with the error of reading the body. The server decides the status that
    // fits this error.
    void fail_body(double number);
    void hold(double number);
    // Returns true if this was the last hold and the request was answered or given up.
    bool release(double number);
    // The same for ctx.waitUntil(), which has a time limit once the response was sent.
    void hold_for_wait(double number);
    bool release_wait(double number);
    // A turn of this request, or of the application (0), was ended by force. The rest of that turn
    // is lost, and so is what other requests would have done in the same drain.
    void terminated(double number, js::TurnEnd end);
    // The connection's fiber has sent the streamed response, or will not send more of it.
    void body_ended(double number, bool cut_off);
    // Drops the fetch's response at the end of the request if nobody has read it by then.
    void owns_fetch(double number, double fetch);
    // Sets a deadline earlier than the limit of all requests.
    void set_deadline(double number, Nanoseconds span);
    double remaining_ms(const ServerCall& call) const;
    void watch_promise(double number, v8::Local<v8::Promise> promise);
    js::Isolate& isolate() { return isolate_; }
    KnownFields& known_fields() { return known_fields_; }
    // For functions that may run after this object has ended.
    std::weak_ptr<ServerCalls*> self() const { return self_; }

private:
    static constexpr std::size_t kSpareMax = 256;
    struct Record : Completion {
        ServerCalls* calls;
    };
    struct Waiting {
        Instant deadline;
        Ticket ticket;
    };

    // Gives an object in its initial state.
    std::unique_ptr<ServerCall> new_call();
    Result<double> open(std::unique_ptr<ServerCall> call);
    void dispatch(double number);
    void client_gone(double number);
    void warn_of_drain(double number);
    void remove(double number);
    js::TurnEnd call_hook(const v8::Global<v8::Function>& hook, double number,
                          std::string_view text);
    void deliver(double number, ServerCall& call, http::Response&& response);
    void count_failure(ServerCall& call, CallFailure failure);
    // The answer to a request that was not accepted.
    http::Response refused_response(const Error& error) const;
    http::Response failed_response(const ServerCall& call, CallFailure failure) const;
    Instant deadline_of(const ServerCall& call) const;
    std::optional<Instant> next_deadline();
    // Call in the loop and not within a turn.
    void give_up(double number, CallFailure failure);
    void end_if_over(double number, ServerCall& call);
    void abort_signal(double number, std::string_view why);
    void arm_deadline();
    void check_deadlines();
    void check_hung();
    bool waits_for_promises();
    void check_lost();
    bool cannot_settle(const ServerCall& call) const;
    void fail_hung();
    void check_lingering();

    js::Isolate& isolate_;
    FetchClient& fetches_;
    const ApplicationLimits& limits_;
    ApplicationCounters& counters_;
    CancelToken app_;
    TicketTable<std::unique_ptr<ServerCall>> calls_{limits_.requests};
    std::vector<std::unique_ptr<ServerCall>> spare_;  // finished objects, for reuse
    KnownFields known_fields_;
    v8::Global<v8::Function> dispatch_;
    v8::Global<v8::Function> abort_;
    v8::Global<v8::Function> warn_;
    v8::Global<v8::Function> end_;
    v8::Global<v8::Function> expire_;
    std::deque<Waiting> waiting_;  // ordered by deadline; see dispatch()
    std::multimap<Instant, Ticket> own_deadlines_;
    // Held by waitUntil() only; ordered by deadline, because all have the same time limit.
    std::deque<Waiting> lingering_;
    Record deadline_record_;
    LoopTimer deadline_timer_;
    Record linger_record_;
    LoopTimer linger_timer_;
    Instant last_hung_check_{};
    Nanoseconds hung_check_pause_{std::chrono::seconds(1)};
    bool check_for_lost_ = false;        // a turn was ended by force since the last check
    std::size_t repairs_under_way_ = 0;  // turns ended by force with microtasks still to be run
    Instant batch_begun_{};              // when the worker read the last requests of the loop
    bool drains_ = false;
    bool closed_ = false;
    std::shared_ptr<ServerCalls*> self_ = std::make_shared<ServerCalls*>(this);
};

// The ServerCalls of the application that runs in this isolate.
ServerCalls& calls_of(js::Call& call);

}  // namespace weft::api
