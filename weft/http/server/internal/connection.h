// Connection: one client of a server, asleep or awake.
//
// Asleep it is an entry in a list of its shard and a Dormant of its descriptor; bytes give it a
// fiber, which owns it until it sleeps again or ends. Whoever takes it out of the list, the bytes
// or the one who closes idle connections, is its owner from then on: one of the two, by the lock.
//
// Where the server has a loop handler, bytes give it a turn in its worker's loop first, which is
// its owner then, and gets it a fiber if it cannot do all without a wait (connection_loop.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "weft/async/context.h"
#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/fiber/io.h"
#include "weft/http/request.h"
#include "weft/http/response.h"
#include "weft/http/server/internal/exchange.h"
#include "weft/http/server/internal/response_writer.h"
#include "weft/net/address.h"
#include "weft/net/stream.h"

namespace weft::net::tls {
class ServerContext;
}

namespace weft::http {

class EarlySender;
class ServerShard;
struct AccessRecord;

class Connection : public Dormant {
public:
    // Of the one who has admitted it. A connection destroys itself.
    static void begin(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
                      std::shared_ptr<net::tls::ServerContext> tls);

    net::Stream& stream() { return *stream_; }
    bool is_fresh() const { return requests_ == 0; }
    // By its owner, while it is asleep or before it has begun.
    static void end(Connection& connection);
    // The same for one whose time is over, or that drains: what has come by now is served.
    void close_idle();
    // The same for one that is stranded: it gets a fiber if there is memory for one by now.
    void retry_stranded();
    // The loop of its worker looks at it soon. By the owner, or for a request that is kept: any
    // thread.
    void queue_for_loop();
    // In that loop.
    void run_in_loop();
    const ServerLimits& limits() const;

    // Under the lock of the shard.
    enum class State : std::uint8_t { Active, Idle, Closing };
    State state = State::Active;
    bool had_last_read = false;  // the server drains, and it was woken for a last look
    Instant idle_since{};   // or stranded
    ListLink link;
    std::int64_t ready_ns = 0;  // 0: not measured; by its owner
    // Of one that is stranded: until when a fiber is to be had for it.
    Deadline stranded_until = Deadline::never();

private:
    // Ends the request's context when the client goes away.
    struct Watch : Dormant {
        // Acquire: the caller of on_ready() does not touch this any more.
        bool has_left() const { return called.load(std::memory_order_acquire); }
        CancelState* token = nullptr;
        Atomic<bool> called{false};
    };
    enum class Next : std::uint8_t {
        Sleep,
        Again,
        End,
        Loop,  // the next request has come, and the loop looks at it
        // In the loop alone.
        Linger,
        Fiber,  // from Exchange::start on
        Kept,
    };
    enum class MayWait : bool { No, Yes };

    Connection(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
               std::shared_ptr<net::tls::ServerContext> tls);
    ~Connection();

    static void on_bytes(Dormant& dormant, std::uint8_t events);
    bool is_for_loop() const;
    void return_to_loop(std::unique_ptr<Exchange> exchange);
    void start_fiber(std::unique_ptr<Exchange> exchange);
    void strand(std::unique_ptr<Exchange> exchange);
    CancelState* make_token(Exchange& exchange);
    void run(std::unique_ptr<Exchange> exchange);  // on its fiber; destroys it at the end
    bool serve_until_idle(std::unique_ptr<Exchange>& exchange);
    Next serve(Exchange& exchange);
    bool handshake();

    Next resume_from_loop(Exchange& exchange);
    Next read_head(Exchange& exchange);
    Next receive_available(Exchange& exchange, ByteSpace space);
    Next answer(Exchange& exchange, EarlySender& early);
    // What leaves before the response, and behind those to earlier requests.
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
    void end_request(Exchange& exchange);
    void begin_request(Exchange& exchange);
    void count_request();
    void begin_body(Exchange& exchange, InterimSender* interim);
    Next finish(Request& request, Exchange& exchange, Result<Response>& outcome, Instant begun,
                MayWait may_wait);
    Result<Response> call_handler(Request& request, async::Context& context);
    Response shed();
    std::optional<Response> refuse_before_call(const Exchange& exchange);
    Result<Response> call_in_turn(Request& request, Exchange& exchange, EarlySender& early);
    void replace_unsendable(Result<Response>& outcome, const Request& request, Exchange& exchange);
    Response response_to_error(const Error& error, const Request& request, Exchange& exchange,
                     CancelState* token);
    Result<void> write_watched(ResponseWriter& writer, Response& response, Exchange& exchange);
    Next refuse(Exchange& exchange, std::uint16_t status, std::string_view reason);
    Next run_upgrade(const Request& request, Exchange& exchange, Response& response);
    bool may_go_on(Instant now) const;
    bool context_has_ended() const;
    bool is_within_reserve() const;
    void linger(Exchange& exchange);
    void report(const AccessRecord& record);

    // In its time the client is watched from the moment when somebody could notice that it has
    // left: a handler that neither waits nor asks pays nothing.
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
    void watch();
    void stop_watching();

    // In the loop.
    void abandon(std::unique_ptr<Exchange> exchange);
    void serve_in_loop(std::unique_ptr<Exchange>& exchange);
    Next read_head_in_loop(Exchange& exchange);
    Next serve_request_in_loop(Exchange& exchange);
    LoopOutcome call_loop_handler(Exchange& exchange);
    Next keep(Exchange& exchange);
    void resume_kept(std::unique_ptr<Exchange>& exchange);
    void end_kept(Exchange& exchange);
    bool try_take_permit(Exchange& exchange);
    void give_permit_back(Exchange& exchange);
    Next write_in_loop(Exchange& exchange, Result<Response>& outcome);
    void leave_loop(std::unique_ptr<Exchange> exchange, Next next);
    Result<bool> try_send_output(Exchange& exchange);
    void send_by_fiber(Exchange& exchange);

    ServerShard& shard_;
    std::unique_ptr<net::Stream> stream_;
    // With the server; null: plain, or the handshake is over.
    std::shared_ptr<net::tls::ServerContext> tls_;
    const net::Address peer_;
    const Instant begun_ = Clock::now();
    Deadline ends_at_;  // its age
    std::uint64_t requests_ = 0;
    Watch watch_;
    bool watching_ = false;
    const bool has_loop_handler_;
    std::unique_ptr<Exchange> exchange_;  // kept for its turn in the loop, or while stranded
};

}  // namespace weft::http
