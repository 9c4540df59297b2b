// ClientConnection: a connection to an origin, with all that a request on it needs.
//
// It is leased by one fiber at a time, or idle in its origin's pool: then it owns no fiber, and a
// server that closes it or says something unasked ends it. What it holds is used again by the next
// request, so a request on a kept connection allocates next to nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

    // ------------------------------------------------------------ of the one who leased it

    // Forgets the last exchange. `method` is a view of the request's, or of a literal.
    void begin(std::string_view method, bool upgrades);

    // Whether the whole head of the final response has come, as far as can be said without waiting.
    // Closed when the server has closed its side before.
    Result<bool> look_for_head();
    // Waits for it. After it, head() is its head, and lies in the buffer.
    Result<void> receive_head(Deadline deadline);
    // What the server says to a head whose body waits for it. Silence: nothing that counts, in
    // time.
    enum class Word : std::uint8_t { Continue, Answer, Silence };
    Result<Word> wait_for_continue(Deadline deadline);

    // Called with each informational response; its error ends the exchange. Outlives the exchange.
    using OnInformational = std::move_only_function<Result<void>(const wire::ResponseHead&)>;
    OnInformational* on_informational = nullptr;

    wire::ResponseHead& head() { return parser_.head(); }
    bool has_head() const { return has_head_; }
    bool has_received() const { return has_received_; }  // a byte since begin()

    // The body that follows head(); afterwards `body` can be read.
    void begin_body(const IncomingLimits& limits, Deadline deadline);
    // Whether the connection stands where the next response begins.
    bool is_clean();
    // Forgets the exchange, and where its head lies.
    void rest();

    bool has_stream() const { return stream_ != nullptr; }
    net::Stream& stream() { return *stream_; }
    std::unique_ptr<net::Stream> take_stream() { return std::move(stream_); }

    std::string output;  // the head of the request, and whatever leaves with it
    ReadBuffer buffer;
    IncomingBody body;
    bool is_reused = false;
    bool keep_alive = true;  // false: not to be used again, whatever the server says

    // ------------------------------------------------------------ of the pool

    const std::shared_ptr<Origin> origin;  // with the pool's map and the other connections
    const Deadline ends_at;                // its age
    enum class State : std::uint8_t { Leased, Idle, Closing };
    bool has_place = true;        // of a lease: it counts among the origin's connections
    State state = State::Leased;  // under the origin's lock, as are the next
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
