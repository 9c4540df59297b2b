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
// For handlers that never wait, and for hosts whose code runs on the thread's own stack anyway: the
// request costs no fiber. The same parser, writer and limits serve it as one with a fiber.
//
// The handler is called in the loop of the worker that the connection lives with, on the thread's
// own stack, never within another call of it on the same worker; by several workers at once if
// several serve. It must not wait. It is called when the whole head has come, and the whole body
// where there is one. Everything else goes to the ordinary handler, on a fiber, which must
// therefore be able to answer every request: those whose body has not come with the head, is in
// chunks or is waited for by Expect, those of TLS, those that wait for a permit
// (ServerLimits::requests), those that somebody else has to serve because the worker is stuck, and
// those that come at the last moment of a drain.
//
// What a handler throws is its error, and an error is 500, as with fibers. The answer is written at
// once if it is a text of at most kSmallBodyBytes; longer ones, files, produced bodies, upgrades
// and what the client does not take at once go on by a fiber, as does what was spawned in the
// request's context: it ends with the response.
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
    OutOfTime,     // ServerLimits::request_time; the server has answered 503
    ServerCloses,  // Server::close(), or the end of the context in which it serves; 503
};

// The right to answer a request that was kept, once. It ends without harm before or after the
// request, connection and server do.
//
// Owning worker only: it is used, moved and destroyed on the worker whose loop called the handler;
// in the loop, or by a fiber that is pinned there.
class Reply {
public:
    Reply() = default;  // of no request
    Reply(Reply&& other) noexcept;
    Reply& operator=(Reply&& other) noexcept;
    ~Reply();  // of a request that is still open: 500

    // The request is still open: it was neither answered nor has it ended.
    explicit operator bool() const { return request_ != nullptr; }

    // True: the response is taken. It is written in the same turn of the loop, when the caller has
    // returned to that; nothing of the request may be touched any more. False: the request is over,
    // and nobody was told. An error is answered as that of a handler would be.
    bool answer(Response&& response);
    bool answer(const Error& error);

private:
    friend class Connection;
    friend class LoopCall;
    friend struct LoopRequest;

    explicit Reply(LoopRequest& request);
    LoopRequest* detach();

    LoopRequest* request_ = nullptr;  // which knows where this is
};

// What a loop handler can do with its request beside answering it. For the call only.
class LoopCall {
public:
    // The context of the request. It ends when the client goes away, the server is closed or the
    // time for the request is over, also while the request is kept. What is spawned in it ends with
    // the response.
    async::Context& context();

    // When the worker came to the request; the same for all that it found at once.
    Instant begun() const;

    // The whole body, where it was received; empty if there is none. Nothing if it has been read
    // through request.body(), or has more bytes than the request may have; body().read_all() gives
    // that error. The text lives as long as the request.
    std::optional<std::string_view> take_body();

    // For a handler that then gives Kept. `on_end` is called if the request ends before it is
    // answered: in the loop, on the thread's own stack; the reply is then over, and the request
    // lives until the function returns. Of the two, answer() that gives true and on_end(), exactly
    // one comes about. Once for a request.
    //
    // The request and what it refers to live until one of the two. Meanwhile it counts as in
    // flight: it has its place among ServerLimits::requests, and a drain waits for it. The next
    // request of the connection is looked at when the answer is written.
    using OnEnd = std::move_only_function<void(KeptEnd)>;
    Reply keep(OnEnd on_end);

private:
    friend class Connection;

    explicit LoopCall(LoopRequest& request) : request_(request) {}

    LoopRequest& request_;
};

struct Kept {};     // a Reply will answer; see LoopCall::keep()
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
