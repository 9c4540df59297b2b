#include "weft/http/client/internal/connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/http/client/internal/pool.h"

namespace weft::http {
namespace {

Error cut_off() { return Error(ErrorKind::Closed, "the server closed the connection"); }

}  // namespace

bool is_idempotent(std::string_view method) {
    constexpr std::array kMethods{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
    return std::ranges::find(kMethods, method) != kMethods.end();
}

ClientConnection::ClientConnection(std::shared_ptr<Origin> its_origin,
                                   std::unique_ptr<net::Stream> stream,
                                   const wire::HeadLimits& limits, Deadline its_end)
    : Dormant{Origin::on_event},
      origin(std::move(its_origin)),
      ends_at(its_end),
      stream_(std::move(stream)),
      parser_(limits) {}

void ClientConnection::begin(std::string_view method, bool upgrades) {
    WEFT_ASSERT(state == State::Leased, "only the fiber that leased it may use a connection");
    WEFT_ASSERT(buffer.empty(), "bytes of the last response would begin the next one");
    method_ = method;
    upgrades_ = upgrades;
    informational_ = 0;
    has_head_ = has_received_ = may_continue_ = false;
    on_informational = nullptr;
    keep_alive = true;
    output.clear();
}

// Parses what has been received. True: the parser has the head of the final response.
Result<bool> ClientConnection::parse() {
    WEFT_DASSERT(!has_head_, "the head lies in the buffer, and its body follows");
    while (!buffer.empty()) {
        switch (parser_.parse(buffer.view(), method_)) {
        case wire::Progress::NeedMore: return false;
        case wire::Progress::Failed: return parser_.error().to_error("the response is malformed");
        case wire::Progress::Done: break;
        }
        std::uint16_t status = parser_.head().status;
        WEFT_DASSERT(status >= 100, "the parser refuses other statuses");
        WEFT_ASSERT(parser_.consumed() <= buffer.view().size(), "the parser was given no more");
        buffer.consume(parser_.consumed());
        if (status >= 200 || (status == 101 && upgrades_)) {
            buffer.hold();
            has_head_ = true;
            return true;
        }
        if (status == 101) return Error(ErrorKind::Other, "the server changes protocols unasked");
        if (status == 100) may_continue_ = true;
        Result<void> told;
        if (on_informational) told = (*on_informational)(parser_.head());
        parser_.reset();
        WEFT_TRY(told);
        if (++informational_ > kInformationalMax)
            return Error::limit("the server sends more informational responses than",
                                kInformationalMax, "kInformationalMax");
    }
    return false;
}

Result<bool> ClientConnection::try_receive_head() {
    for (;;) {
        if (has_head_) return true;
        bool found = WEFT_TRY(parse());
        if (found) return true;
        ByteSpace space = buffer.space();
        if (space.empty()) return ErrorKind::OutOfMemory;
        std::optional<std::size_t> count = WEFT_TRY(stream_->try_read(space));
        if (!count) return false;
        if (*count == 0) return cut_off();
        WEFT_ASSERT(*count <= space.size(), "a read fills its space at most");
        has_received_ = true;
        buffer.filled(*count);
    }
}

Result<void> ClientConnection::receive_head(Deadline deadline) {
    for (;;) {
        if (has_head_) return {};
        bool found = WEFT_TRY(parse());
        if (found) return {};
        WEFT_TRY(receive(deadline));
    }
}

Result<ClientConnection::Reaction> ClientConnection::wait_for_continue(Deadline deadline) {
    WEFT_ASSERT(!has_head_, "sending the head would have reported an answer");
    for (;;) {
        bool found = WEFT_TRY(parse());
        if (found) return Reaction::Answer;
        if (may_continue_) return Reaction::Continue;
        Result<void> received = receive(deadline);
        if (received) continue;
        // If the caller's own context has ended, the server may not have been silent.
        bool silent =
            received.error().kind() == ErrorKind::TimedOut && CancelToken::current().check();
        if (!silent) return received.error();
        return Reaction::Silence;
    }
}

Result<void> ClientConnection::receive(Deadline deadline) {
    ByteSpace space = buffer.space();
    if (space.empty()) return ErrorKind::OutOfMemory;
    std::size_t count = WEFT_TRY(stream_->read(space, deadline));
    if (count == 0) return cut_off();
    WEFT_ASSERT(count <= space.size(), "a read fills its space at most");
    has_received_ = true;
    buffer.filled(count);
    return {};
}

void ClientConnection::begin_body(const IncomingLimits& limits, Deadline deadline) {
    const wire::ResponseHead& said = head();
    body.begin(*stream_, buffer, said.framing, said.length, limits);
    body.set_deadline(deadline);
}

bool ClientConnection::is_clean() {
    if (!keep_alive || !has_head_ || !head().keep_alive || !stream_) return false;
    if (head().status == 101 || head().framing == wire::Framing::UntilClose) return false;
    // Bytes behind a response belong to no request, so they must not be there.
    return body.is_finished() && !body.has_failed() && buffer.empty();
}

void ClientConnection::end_exchange() {
    WEFT_ASSERT(buffer.empty() && body.is_finished(), "the response has not ended: see is_clean()");
    parser_.reset();
    buffer.clear();
    output.clear();
    if (output.capacity() > 2 * kWriteGatherBytes) output.shrink_to_fit();
}

}  // namespace weft::http
