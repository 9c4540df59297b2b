// ClientConnection: a connection to an origin, with the buffers and parsers of a request.
//
// It is leased by one fiber at a time, or idle in its origin's pool. An idle connection owns no
// fiber; it is closed when its server closes it or sends bytes that nobody asked for. Its buffers
// are reused by the next request, so a request on a reused connection allocates next to nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/base/function.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/io.h"
#include "weft/http/internal/incoming_body.h"
#include "weft/http/internal/read_buffer.h"
#include "weft/http/limits.h"
#include "weft/http/wire/head.h"
#include "weft/net/stream.h"

namespace weft::http {

class Origin;

// RFC 9110 §9.2.2: repeating such a request changes nothing.
bool is_idempotent(std::string_view method);

class ClientConnection final : public Dormant {
public:
    ClientConnection(std::shared_ptr<Origin> origin, std::unique_ptr<net::Stream> stream,
                     const wire::HeadLimits& limits, Deadline ends_at);

    // ------------------------------------------------------------ for the fiber that leased it

    // Begins an exchange, and drops what is left of the last one. `method` must stay valid until
    // the exchange ends: a view of the request's method, or of a literal.
    void begin(std::string_view method, bool upgrades);

    // Reads what has arrived, without waiting. True: the whole head of the final response is here.
    // Closed when the server has closed its side before that.
    Result<bool> try_receive_head();
    // Waits for the head of the final response, which is then head() and lies in the buffer.
    Result<void> receive_head(Deadline deadline);
    // How the server reacts to the head of a request whose body waits for 100 (Continue). Silence:
    // neither a 100 nor a final response has come before the deadline.
    enum class Reaction : std::uint8_t { Continue, Answer, Silence };
    Result<Reaction> wait_for_continue(Deadline deadline);

    // Called with each informational response; its error ends the exchange. Null: they are dropped.
    // The function must outlive the exchange.
    using OnInformational = std::move_only_function<Result<void>(const wire::ResponseHead&)>;
    OnInformational* on_informational = nullptr;

    wire::ResponseHead& head() {
        WEFT_DASSERT(has_head_, "the final response has not come");
        return parser_.head();
    }
    bool has_head() const { return has_head_; }
    bool has_received() const { return has_received_; }  // whether a byte came since begin()

    // Prepares `body` to read the body that follows head().
    void begin_body(const IncomingLimits& limits, Deadline deadline);
    // Whether the response ended exactly at the last received byte, and another may follow it: only
    // then can the connection be used for another request.
    bool is_clean();
    // Drops what the exchange holds, head() included, before the connection becomes idle.
    void end_exchange();

    bool has_stream() const { return stream_ != nullptr; }
    net::Stream& stream() { return *stream_; }
    std::unique_ptr<net::Stream> take_stream() { return std::move(stream_); }

    std::string output;  // bytes to send: the head of the request, and what is sent with it
    ReadBuffer buffer;
    IncomingBody body;
    bool is_reused = false;
    bool keep_alive = true;  // false: it must not be reused, whatever the server says

    // ------------------------------------------------------------ for the pool

    const std::shared_ptr<Origin> origin;  // shared with the pool's map and other connections
    const Deadline ends_at;                // from its maximal age
    enum class State : std::uint8_t { Leased, Idle, Closing };
    bool has_permit = true;       // while leased: it holds one of the origin's permits
    State state = State::Leased;  // under the origin's lock, as are the members below
    ListLink link;
    unsigned shard = 0;
    Deadline idle_until;
    Instant idle_since{};

private:
    Result<bool> parse();
    Result<void> receive(Deadline deadline);

    std::unique_ptr<net::Stream> stream_;
    wire::ResponseParser parser_;
    std::string_view method_;
    unsigned informational_ = 0;
    bool upgrades_ = false;
    bool has_head_ = false;
    bool has_received_ = false;
    bool may_continue_ = false;  // 100 has come
};

}  // namespace weft::http
