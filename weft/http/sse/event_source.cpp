#include "weft/http/sse/event_source.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/turn.h"
#include "weft/http/limits.h"

namespace weft::http {
namespace {

// The largest random addition to the delay. It is only added, so that no client comes before the
// time that the server has asked for.
constexpr unsigned kJitterPercent = 25;
// The smallest delay after a failed attempt, which is then doubled. A server that sets retry to 0
// means streams that end as planned, not that it cannot be reached.
constexpr Nanoseconds kDoubledMin = std::chrono::milliseconds(1);

bool is_event_stream(const Headers& headers) {
    std::string_view type = headers.get("content-type").value_or("");
    std::string_view essence = type.substr(0, type.find(';'));
    while (essence.ends_with(' ') || essence.ends_with('\t')) essence.remove_suffix(1);
    return equal_without_case(essence, "text/event-stream");
}

// Whether another attempt would fail as well. Other errors come from the network, or from a server
// that is starting.
bool is_final(const Error& error) {
    return error.kind() == ErrorKind::Misuse || error.kind() == ErrorKind::Limit;
}

}  // namespace

EventSource::EventSource(Client& client, Url url, EventSourceOptions options)
    : client_(client),
      url_(std::move(url)),
      options_(std::move(options)),
      last_event_id_(options_.last_event_id),
      retry_(options_.retry) {}

EventSource::~EventSource() = default;

Result<EventSource::Event> EventSource::next(Deadline deadline) {
    turn::may_wait("event_source.next", this);  // buffered events are returned without a wait
    if (final_) return *final_;
    CancelScope scope(CancelSource::with_deadline(deadline).token());
    Result<Event> event = wait_for_event();
    // If only the caller's context has ended, the stream is still good.
    if (!event && !CancelToken::current().is_cancelled()) {
        final_ = event.error();
        response_.reset();
    }
    return event;
}

Result<EventSource::Event> EventSource::wait_for_event() {
    WEFT_DASSERT(!final_, "next() gives it again");
    for (;;) {
        if (!response_) WEFT_TRY(connect());
        auto event = WEFT_TRY(parse());
        if (event) return std::move(*event);
        WEFT_TRY(read());
    }
}

Result<std::optional<EventSource::Event>> EventSource::parse() {
    if (unread_.empty()) return std::optional<Event>();
    WEFT_ASSERT(parser_, "only an open stream has bytes");
    auto parsed = parser_->next(unread_);
    if (!parsed) return parsed.error().with_context("event stream", url_.without_query());
    auto& found = *parsed;
    last_event_id_ = parser_->last_event_id();
    if (parser_->retry()) retry_ = *parser_->retry();
    WEFT_ASSERT(found || unread_.empty(), "the parser uses all bytes before it asks for more");
    if (!found) return std::optional<Event>();
    return std::optional<Event>({.type = std::string(found->type),
                                 .data = std::string(found->data),
                                 .last_event_id = std::string(found->last_event_id)});
}

// "Reestablish the connection": repeats attempts until a stream is open.
Result<void> EventSource::connect() {
    while (!response_) {
        WEFT_TRY(sleep_until(connect_after_));
        WEFT_TRY(open());
    }
    return {};
}

Result<void> EventSource::open() {
    WEFT_ASSERT(!response_, "a stream is open already");
    ClientTimeouts timeouts;
    timeouts.total = Nanoseconds::max();
    timeouts.idle = options_.idle;
    ClientRequest request{.url = url_, .headers = options_.headers.copy(), .timeouts = timeouts};
    request.headers.set("accept", "text/event-stream");
    // A content coding could hold events back until there is enough to compress.
    request.headers.set("accept-encoding", "identity");
    request.headers.set("cache-control", "no-store");
    // An id that a field cannot hold is not sent; sending it would make every request Misuse.
    if (!last_event_id_.empty() && is_field_value(last_event_id_))
        request.headers.set("last-event-id", last_event_id_);
    auto response = client_.send(request);
    if (!response) return retry_later(response.error(), WasOpen::No);
    auto ended = [this](ErrorKind kind, std::string_view why) {
        return Error(kind, why).with_context("event stream", url_.without_query());
    };
    if (response->status == 204) return ended(ErrorKind::Closed, "it has ended (204)");
    if (response->status != 200) {
        return ended(ErrorKind::Refused,
                     "instead of events came status " + std::to_string(response->status));
    }
    if (!is_event_stream(response->headers))
        return ended(ErrorKind::Refused, "the response is no text/event-stream");
    failures_ = 0;
    response_ = std::move(*response);
    parser_.emplace(options_.event_bytes_max, last_event_id_);
    if (!buffer_) buffer_ = std::make_unique<std::byte[]>(kReadBufferBytes);
    unread_ = {};
    return {};
}

Result<void> EventSource::read() {
    WEFT_ASSERT(response_ && unread_.empty(), "bytes that were not parsed would be lost");
    auto count = response_->body().read({buffer_.get(), kReadBufferBytes});
    if (!count) return retry_later(count.error(), WasOpen::Yes);
    if (*count == 0) return retry_later(ErrorKind::Closed, WasOpen::Yes);
    WEFT_ASSERT(*count <= kReadBufferBytes, "a read fills its space at most");
    unread_ = {buffer_.get(), *count};
    return {};
}

// To be called when a stream or an attempt has failed: sets the time of the next attempt, or
// returns the error if another attempt would fail as well.
Result<void> EventSource::retry_later(const Error& why, WasOpen was_open) {
    WEFT_TRY(CancelToken::current().check());
    if (is_final(why)) return why;
    response_.reset();
    connect_after_ = Deadline::after(delay());
    if (was_open == WasOpen::No) ++failures_;
    return {};
}

Nanoseconds EventSource::delay() const {
    Nanoseconds delay = saturate(retry_);
    if (failures_ > 0) delay = std::max(delay, kDoubledMin);
    for (unsigned i = 0; i < failures_ && delay < options_.retry_max; ++i)
        delay = std::min(delay * 2, options_.retry_max);
    std::uint64_t chance = env::random(RandomStream::Workload) % (kJitterPercent + 1);
    return delay + delay / 100 * static_cast<std::int64_t>(chance);
}

}  // namespace weft::http
