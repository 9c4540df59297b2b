// LoopHandler: answers requests in the loop of a worker, without a fiber.
//
//     http::ServerOptions options;
//     options.loop_handler = [&](http::Request& request, http::LoopCall& call) -> http::LoopOutcome
//     {
//         if (request.path() == "/health") return http::Response::text("ok");  // now
//         if (request.path() == "/report") return http::ByFiber{};  // by the ordinary handler
//         host.begin(request, call.keep([&](http::KeptEnd why) { host.abort(why); }));
//         return http::Kept{};                                      // later, from the loop
//     };
//     http::Server server(ordinary_handler, std::move(options));
//
// For handlers that never wait, and for hosts whose code runs on the thread's own stack anyway:
// such a request costs no fiber. Parser, writer and limits are those of requests with a fiber.
//
// The handler is called in the loop of the connection's worker, on the thread's own stack, and
// never within another call of it on the same worker; by several workers at once if several serve.
// It must not wait. It is called when the whole head has come, and the whole body where there is
// one. All other requests go to the ordinary handler, on a fiber, which must therefore be able to
// answer every request: those whose body has not come with the head, comes in chunks or is held
// back by Expect; those over TLS; those that have to wait for a permit (ServerLimits::requests);
// those that another worker serves because their own is stuck; and those that come at the last
// moment of a drain.
//
// What a handler throws is its error, and an error is answered with 500, as on a fiber. The
// response is written at once if its body is a text of at most kSmallBodyBytes. A fiber writes all
// others, and what cannot be sent without waiting; a fiber also ends what was spawned in the
// request's context, which ends with the response.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/response.h"

namespace weft::http {

class Connection;
class Request;
struct LoopRequest;

// Why a request that was kept ended before it was answered.
enum class KeptEnd : std::uint8_t {
    ClientGone,    // hung up; the end of its bytes counts as gone, see ServerOptions::half_close
    OutOfTime,     // ServerLimits::request_time has passed; the server answers 503
    ServerCloses,  // Server::close(), or the end of the context in which it serves; 503
};

// The right to answer a request that was kept, once. It may outlive the request, the connection and
// the server.
//
// Owning worker only: it is used, moved and destroyed on the worker whose loop called the handler,
// in that loop or by a fiber that is pinned there.
class Reply {
public:
    Reply() = default;  // of no request
    Reply(Reply&& other) noexcept;
    Reply& operator=(Reply&& other) noexcept;
    ~Reply();  // a request that is still open is answered with 500

    // The request is still open: it was neither answered nor has it ended.
    explicit operator bool() const { return request_ != nullptr; }

    // True: the response is taken, and is written when the caller has returned to the loop; nothing
    // of the request may be touched any more. False: the request is over, and this had no effect.
    // An error is answered as that of a handler would be.
    bool answer(Response&& response);
    bool answer(const Error& error);

private:
    friend class Connection;
    friend class LoopCall;
    friend struct LoopRequest;

    explicit Reply(LoopRequest& request);
    LoopRequest* detach();

    LoopRequest* request_ = nullptr;  // points back here; see LoopRequest::reply
};

// What a loop handler can do with its request beside answering it. For the call only.
class LoopCall {
public:
    // The context of the request. It ends when the client goes away, the server is closed or the
    // time for the request is over, also while the request is kept. What is spawned in it ends with
    // the response.
    async::Context& context();

    // When the worker came to the request; requests that it found together may share one time.
    Instant begun() const;

    // The whole body, without copying it; empty if there is none. Nothing if it was read through
    // request.body(), or has more bytes than allowed; body().read_all() gives that error. The text
    // lives as long as the request.
    std::optional<std::string_view> take_body();

    // For a handler that then returns Kept; once for a request. `on_end` is called if the request
    // ends before it is answered: in the loop, on the thread's own stack. The reply has no effect
    // any more by then, and the request lives until the function returns. Exactly one of the two
    // happens: an answer() that gives true, or on_end().
    //
    // The request and what it refers to live until one of the two. Meanwhile it counts among
    // ServerLimits::requests, and a drain waits for it. The next request of the connection is
    // served after the response is written.
    using OnEnd = std::move_only_function<void(KeptEnd)>;
    Reply keep(OnEnd on_end);

private:
    friend class Connection;

    explicit LoopCall(LoopRequest& request) : request_(request) {}

    LoopRequest& request_;
};

struct Kept {};     // a Reply answers later; see LoopCall::keep()
struct ByFiber {};  // the ordinary handler answers, on a fiber; it sees the whole request

// What a loop handler gives: a response or an error, Kept or ByFiber.
class LoopOutcome {
public:
    enum class Kind : std::uint8_t { Answer, Kept, ByFiber };

    LoopOutcome(Response&& response) : result_(std::move(response)) {}
    LoopOutcome(Result<Response>&& result) : result_(std::move(result)) {}
    LoopOutcome(const Error& error) : result_(error) {}
    LoopOutcome(ErrorKind error) : result_(error) {}
    LoopOutcome(Kept) : kind_(Kind::Kept) {}
    LoopOutcome(ByFiber) : kind_(Kind::ByFiber) {}

    Kind kind() const { return kind_; }
    Result<Response>& result() { return result_; }  // of Kind::Answer

private:
    Kind kind_ = Kind::Answer;
    Result<Response> result_ = ErrorKind::Closed;
};

using LoopHandler = std::function<LoopOutcome(Request&, LoopCall&)>;

// A handler that never waits, in the loop.
LoopHandler never_waits(Handler handler);

}  // namespace weft::http
