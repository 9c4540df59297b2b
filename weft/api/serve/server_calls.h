// ServerCalls: the requests that are in JavaScript's hands.
//
// A request is known to script by a number, which is a ticket: when the request is over, the number
// finds nothing. It is answered exactly once: by the script, or by us when the handler failed, took
// too long, or the client went away. What the script started for it (its tasks and timers) ends
// when the response has been sent, unless ctx.waitUntil() holds it.
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

// Why a request was not answered by its handler; each has a status, a text and a code.
enum class CallFailure : std::uint8_t {
    Threw,
    NotAResponse,
    Unsendable,
    TooLate,  // pending at its deadline
    Hung,     // pending, and nothing is left that could settle it
    CpuLimit,
    MicrotaskLimit,
    HeapLimit,
    TooMany,  // as many as the isolate may have are under way
    Closed,   // the application ends
};
struct FailureText {
    std::uint16_t status;
    std::string_view text;
    std::string_view code;
    std::string_view key;  // of the limit that was reached; may be empty
};
FailureText text_of(CallFailure failure);

// One request.
struct ServerCall {
    http::Request* request = nullptr;        // null once it was answered
    std::optional<std::string_view> body;    // whole, where it lies in the server's buffer
    std::unique_ptr<std::string> kept_body;  // of a request that was answered by a stream
    bool body_taken = false;
    bool answered = false;
    std::optional<Error> body_error;  // why the body could not be read
    bool wants_signal = false;        // the script looks at request.signal
    unsigned held = 0;                // by waitUntil, and by the response's body or socket
    unsigned waits = 0;               // of these by waitUntil
    bool lingers = false;             // only waitUntil holds it, which is being timed
    Instant begun{};
    std::optional<Instant> own_deadline;  // of its route
    std::string id;                       // by which log and client name it; made with the first
    bool watched = false;                 // `promise` was set
    CancelToken context;                  // the server's, of this request
    http::Reply reply;                    // of a request from the loop
    struct FiberCall* fiber = nullptr;    // of one from a fiber
    std::optional<CancelSource> tasks;    // above its tasks; made with the first
    std::shared_ptr<BodyQueue> outgoing;  // of a response that is streamed
    // Of a fetch's response that is passed on: its owners are the body of the response and this.
    std::shared_ptr<js::TaskCancel> passed_on;
    std::vector<double> fetches;      // responses that it has asked for
    v8::Global<v8::Promise> promise;  // what the handler gave; weak

    // As new, for the next request.
    void reset();
};

// In the frame of the connection's fiber, which waits for the answer.
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
    // A fiber of the worker: hands the request to the loop and waits for the answer.
    Result<http::Response> handle(http::Request& request, async::Context& context);

    // Fails what is not answered yet; nothing is taken any more.
    void fail_all(CallFailure failure);
    // Tells the requests that the server drains.
    void drain();
    // Tells it those that will come: they came before, and have waited for this isolate.
    void drain_from_now() { drains_ = true; }
    // The isolate has nothing to do: a promise that is still pending may be pending for ever.
    void on_idle();
    std::size_t in_flight() const { return calls_.size(); }
    bool is_empty() const { return calls_.size() == 0; }
    // The last request that was under way is over. Any caller of what ends one.
    std::function<void()> on_empty;

    // For the isolate: above the tasks of a request; nothing when that is over.
    std::optional<CancelToken> token_of(double number);

    // ---- for the natives
    ServerCall* find(double number);
    // "GET /users (request 41d2...)"; empty when it is over or there is none.
    std::string describe(double number);
    void answer(double number, http::Response&& response);
    void fail(double number, CallFailure failure);
    // The handler has passed on that it could not read the body: the server knows the status for
    // whoever sent it.
    void fail_body(double number);
    void hold(double number);
    // True: that was the last thing that held it, and it is over.
    bool release(double number);
    // The same by ctx.waitUntil(), whose time is limited once the response is over.
    void hold_for_wait(double number);
    bool release_wait(double number);
    // A turn of it, or of the application (0), was ended by force: what it was about to do will not
    // be done, nor what others would have done in the same drain.
    void terminated(double number, js::TurnEnd end);
    // The connection's fiber: the streamed response has been sent, or nobody takes it any more.
    void body_ended(double number, bool cut_off);
    // A response that goes when the request ends, if nobody has read it by then.
    void owns_fetch(double number, double fetch);
    // Earlier than that of all requests.
    void set_deadline(double number, Nanoseconds span);
    double remaining_ms(const ServerCall& call) const;
    void watch_promise(double number, v8::Local<v8::Promise> promise);
    js::Isolate& isolate() { return isolate_; }
    KnownFields& known_fields() { return known_fields_; }
    // For those who may outlive it.
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

    // The call is as new.
    std::unique_ptr<ServerCall> blank();
    Result<double> open(std::unique_ptr<ServerCall> call);
    void dispatch(double number);
    void client_gone(double number);
    void warn(double number);
    void remove(double number);
    js::TurnEnd call_hook(const v8::Global<v8::Function>& hook, double number,
                          std::string_view text);
    void deliver(double number, ServerCall& call, http::Response&& response);
    void count_failure(ServerCall& call, CallFailure failure);
    // Of one that could not be opened.
    http::Response refused_response(const Error& error) const;
    http::Response failed_response(const ServerCall& call, CallFailure failure) const;
    Instant deadline_of(const ServerCall& call) const;
    std::optional<Instant> next_deadline();
    // In the loop, and not in a turn.
    void give_up(double number, CallFailure failure);
    void end_if_over(double number, ServerCall& call);
    void abort_signal(double number, std::string_view why);
    void arm_deadline();
    void check_deadlines();
    void check_hung();
    bool waits_for_promises();
    void check_lost();
    bool is_hopeless(const ServerCall& call) const;
    void fail_hopeless();
    void check_lingering();

    js::Isolate& isolate_;
    FetchClient& fetches_;
    const ApplicationLimits& limits_;
    ApplicationCounters& counters_;
    CancelToken app_;
    TicketTable<std::unique_ptr<ServerCall>> calls_{limits_.requests};
    std::vector<std::unique_ptr<ServerCall>> spare_;  // of requests that are over
    KnownFields known_fields_;
    v8::Global<v8::Function> dispatch_;
    v8::Global<v8::Function> abort_;
    v8::Global<v8::Function> warn_;
    v8::Global<v8::Function> end_;
    v8::Global<v8::Function> expire_;
    std::deque<Waiting> waiting_;  // by deadline, which is the same span for all
    std::multimap<Instant, Ticket> own_deadlines_;
    std::deque<Waiting> lingering_;  // held by waitUntil alone; by deadline, as above
    Record deadline_record_;
    LoopTimer deadline_timer_;
    Record linger_record_;
    LoopTimer linger_timer_;
    Instant last_hung_check_{};
    Nanoseconds hung_check_pause_{std::chrono::seconds(1)};
    bool looks_for_lost_ = false;        // a turn was ended by force since the last look
    std::size_t repairs_under_way_ = 0;  // turns ended by force whose rest is still to be run
    Instant batch_begun_{};              // when the worker came to the last requests from the loop
    bool drains_ = false;
    bool closed_ = false;
    std::shared_ptr<ServerCalls*> self_ = std::make_shared<ServerCalls*>(this);
};

// The calls of the application that runs in this isolate.
ServerCalls& calls_of(js::Call& call);

}  // namespace weft::api
