// Connection: one client of a server, asleep or awake.
//
// Asleep it is an entry in a list of its shard and a Dormant of its descriptor; bytes give it a
// fiber, which owns it until it sleeps again or ends. Whoever takes it out of the list, the bytes
// or the one who closes idle connections, is its owner from then on: one of the two, by the lock.
#pragma once

#include <cstdint>
#include <memory>

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
    void try_again();

    // Under the lock of the shard.
    enum class State : std::uint8_t { Awake, Asleep, Closing };
    State state = State::Awake;
    bool has_looked = false;  // the server drains, and it was woken for a last look
    Instant asleep_since{};   // or stranded
    ListLink link;
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
    enum class Next : std::uint8_t { Sleep, Again, End };

    Connection(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
               std::shared_ptr<net::tls::ServerContext> tls);
    ~Connection();

    static void on_bytes(Dormant& dormant, std::uint8_t events);
    void wake_up(std::unique_ptr<Exchange> exchange);
    void strand(std::unique_ptr<Exchange> exchange);
    void live(std::unique_ptr<Exchange> exchange);  // on its fiber; destroys it at the end
    Next serve(Exchange& exchange);
    bool shake_hands();

    Next read_head(Exchange& exchange);
    Next answer(Exchange& exchange, EarlySender& early);
    // What leaves before the response, and behind those to earlier requests.
    struct Interim final : InformationalSender {
        Interim(Connection& its_connection, Exchange& its_exchange, EarlySender& its_early)
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
    void begin_body(Exchange& exchange, Interim& interim);
    Result<Response> call_handler(Request& request, async::Context& context);
    Response shed();
    Result<Response> call_admitted(Request& request, Exchange& exchange, EarlySender& early);
    Result<Response> call_in_turn(Request& request, Exchange& exchange, EarlySender& early);
    void check(Result<Response>& outcome, const Request& request, Exchange& exchange);
    Response explain(const Error& error, const Request& request, Exchange& exchange,
                     CancelState* token);
    Result<void> write(ResponseWriter& writer, Response& response,
                       const ResponseWriter::Manner& manner, Exchange& exchange);
    Next refuse(Exchange& exchange, std::uint16_t status, std::string_view reason);
    Next hand_over(const Request& request, Exchange& exchange, Response& response);
    bool may_go_on(Instant now) const;
    bool is_late() const;
    void linger(Exchange& exchange);
    void report(const AccessRecord& record);

    // In its time the client is watched from the moment when somebody could notice that it has
    // left: a handler that neither waits nor asks pays nothing.
    class WatchTime {
    public:
        WatchTime(Connection& connection, Exchange& exchange);
        ~WatchTime();
        WatchTime(const WatchTime&) = delete;
        WatchTime& operator=(const WatchTime&) = delete;

    private:
        Connection& connection_;
        Exchange& exchange_;
    };
    void watch();
    void stop_watching();

    ServerShard& shard_;
    std::unique_ptr<net::Stream> stream_;
    // With the server; null: plain, or the handshake is over.
    std::shared_ptr<net::tls::ServerContext> tls_;
    const net::Address peer_;
    const Instant begun_ = Clock::now();
    Deadline ends_at_;  // its age
    std::uint64_t requests_ = 0;
    std::int64_t woken_ns_ = 0;  // 0: not measured
    Watch watch_;
    bool watching_ = false;
};

}  // namespace weft::http
