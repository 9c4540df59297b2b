// Connection: one client of a server.
//
// It is idle or active. An idle one has neither a fiber nor a buffer: it is an entry in a list of
// its shard and a Dormant of its descriptor. Its next bytes make it active: it gets an Exchange and
// a fiber, which owns it until it is idle again or ends. An idle connection is made active by its
// bytes, or closed by whoever closes idle ones; the lock of the shard decides which of the two
// takes it out of its list and owns it from then on.
//
// Where the server has a loop handler, its bytes first give it a turn in the loop of its worker,
// which owns it then and starts a fiber only for what has to wait.
//
// connection.cpp is the path of a request on a fiber, connection_loop.cpp that in the loop, and
// connection_lifecycle.cpp how a connection begins, changes between idle and active, and ends. It
// destroys itself in end().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "weft/async/context.h"
#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/fiber/io.h"
#include "weft/http/internal/descriptor_watch.h"
#include "weft/http/request.h"
#include "weft/http/response.h"
#include "weft/http/server/internal/exchange.h"
#include "weft/http/server/internal/response_writer.h"
#include "weft/net/address.h"
#include "weft/net/stream.h"

namespace weft {
class FiberLabel;
}

namespace weft::net::tls {
class ServerContext;
}

namespace weft::http {

class EarlySender;
class ServerShard;
struct AccessRecord;

class Connection : public Dormant {
public:
    // For a client that ServerCore::admit() has let in, and for which its shard was chosen.
    static void begin(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
                      std::shared_ptr<net::tls::ServerContext> tls);

    net::Stream& stream() { return *stream_; }
    bool is_fresh() const { return requests_ == 0; }  // no request has come yet
    // Closes and destroys it. By its owner, which does not touch it afterwards.
    static void end(Connection& connection);
    // Ends an idle one whose time is over. In a drain it is served once more instead, because bytes
    // may have come by now.
    void close_idle();
    // Starts the fiber of a stranded one, if there is memory for it by now.
    void retry_stranded();
    // Gives it a turn in the loop of its worker soon. By its owner; for a request that is kept, any
    // thread.
    void queue_for_loop();
    void run_in_loop();  // that turn
    const ServerLimits& limits() const;
    bool is_on_its_worker() const;  // the caller is, until its next wait

    // Under the lock of the shard, from here to `link`.
    enum class State : std::uint8_t { Active, Idle, Closing };
    State state = State::Active;
    bool had_last_read = false;  // the server drains, and this was made active to read once more
    Instant idle_since{};        // or stranded since
    ListLink link;
    // Its owner's. When the worker learned of its bytes; 0: not measured.
    std::int64_t ready_ns = 0;
    // Of a stranded one: when it is closed unless it has got a fiber.
    Deadline stranded_until = Deadline::never();

private:
    // What the connection does next.
    enum class Next : std::uint8_t {
        Idle,     // there is nothing to read for now
        Proceed,  // the next phase, or the next request
        End,
        Loop,  // the next request has come, and the loop serves it
        // In the loop alone.
        Linger,  // a fiber lingers, then ends the connection
        Fiber,   // a fiber goes on at Exchange::start
        Kept,    // the loop handler answers later
    };
    enum class MayWait : bool { No, Yes };
    enum class KeepAlive : bool { No, Yes };

    Connection(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
               std::shared_ptr<net::tls::ServerContext> tls);
    ~Connection();

    // ---- lifecycle

    static const FiberLabel kLabel;  // of its fiber while there is no request

    static void on_bytes(Dormant& dormant, std::uint8_t events);
    bool is_for_loop() const;
    void return_to_loop(std::unique_ptr<Exchange> exchange);
    void start_fiber(std::unique_ptr<Exchange> exchange);
    void strand(std::unique_ptr<Exchange> exchange);
    CancelState* make_token(Exchange& exchange);
    void run(std::unique_ptr<Exchange> exchange);  // on its fiber; destroys it at the end
    bool handshake();

    // ---- a request on the fiber, in the order of its phases; see connection.cpp

    // Sends informational responses, behind the responses to earlier requests.
    struct InterimSender final : InformationalSender {
        InterimSender(Connection& its_connection, Exchange& its_exchange, EarlySender& its_early)
            : connection(its_connection), exchange(its_exchange), early(its_early) {}
        Result<void> send(std::uint16_t status, const Headers& headers) override;

        Connection& connection;
        Exchange& exchange;
        EarlySender& early;
    };
    struct RequestEnd {
        ~RequestEnd() { connection.end_request(exchange); }
        Connection& connection;
        Exchange& exchange;
    };
    struct HeldPermit;

    bool serve_until_idle(std::unique_ptr<Exchange>& exchange);
    Next serve(Exchange& exchange);
    Next read_head(Exchange& exchange);
    Next receive_available(Exchange& exchange, ByteSpace space);
    bool context_has_ended() const;

    Next serve_request(Exchange& exchange, EarlySender& early);
    void begin_request(Exchange& exchange);
    void count_request();
    void begin_body(Exchange& exchange, InterimSender* interim);

    Result<Response> admit_and_call(Request& request, Exchange& exchange, EarlySender& early);
    std::optional<Response> admit(const Exchange& exchange, HeldPermit& permit);
    std::optional<Response> refuse_before_call(const Exchange& exchange);
    bool is_within_reserve() const;
    Response shed();
    Result<Response> call(Request& request, Exchange& exchange, EarlySender& early);

    Next write(Request& request, Exchange& exchange, Result<Response>& outcome, Instant begun,
               MayWait may_wait);
    Result<void> write_watched(ResponseWriter& writer, Response& response, Exchange& exchange);
    void replace_unsendable(Result<Response>& outcome, const Request& request, Exchange& exchange);
    Response response_to_error(const Error& error, const Request& request, Exchange& exchange,
                               CancelState* token);
    Next refuse(Exchange& exchange, std::uint16_t status, std::string_view reason);
    Next run_upgrade(const Request& request, Exchange& exchange, Response& response);
    void report(const AccessRecord& record);

    Next drop_unread(Exchange& exchange, KeepAlive keep_alive, MayWait may_wait);
    void end_request(Exchange& exchange);
    bool may_go_on(Instant now) const;
    void linger(Exchange& exchange);

    // ---- the disconnect watch

    // While one exists, the client is watched from the moment when somebody could notice that it
    // has left: a handler that neither waits nor asks pays nothing.
    class WatchScope {
    public:
        WatchScope(Connection& connection, Exchange& exchange)
            : connection_(connection), exchange_(exchange) {
            connection.begin_watch(exchange);
        }
        ~WatchScope() { connection_.end_watch(exchange_); }
        WatchScope(const WatchScope&) = delete;
        WatchScope& operator=(const WatchScope&) = delete;

    private:
        Connection& connection_;
        Exchange& exchange_;
    };
    void begin_watch(Exchange& exchange);
    void end_watch(Exchange& exchange);
    void arm_watch();

    // ---- a request in the loop, in the order of its phases; see connection_loop.cpp

    void serve_in_loop(std::unique_ptr<Exchange>& exchange);
    Next read_head_in_loop(Exchange& exchange);
    Next serve_request_in_loop(Exchange& exchange);
    bool admit_in_loop(Exchange& exchange);
    LoopOutcome call_in_loop(Exchange& exchange);
    Next write_in_loop(Exchange& exchange, Result<Response>& outcome);
    void leave_loop(std::unique_ptr<Exchange> exchange, Next next);
    Next resume_from_loop(Exchange& exchange);

    Next keep(Exchange& exchange);
    void resume_kept(std::unique_ptr<Exchange>& exchange);
    void end_kept(Exchange& exchange);
    void give_permit_back(Exchange& exchange);
    void abandon(std::unique_ptr<Exchange> exchange);
    Result<bool> try_send_output(Exchange& exchange);
    void send_by_fiber(Exchange& exchange);

    ServerShard& shard_;
    std::unique_ptr<net::Stream> stream_;
    // Shared with the acceptor; null: plain, or the handshake is over.
    std::shared_ptr<net::tls::ServerContext> tls_;
    const net::Address peer_;
    const Instant begun_ = Clock::now();
    Deadline ends_at_;  // by ServerLimits::connection_age
    std::uint64_t requests_ = 0;
    DescriptorWatch watch_;  // the disconnect watch
    const bool has_loop_handler_;
    std::unique_ptr<Exchange> exchange_;  // kept for its turn in the loop, or while stranded
};

}  // namespace weft::http
