// Server-sent events, both ways, as HTML defines them:
// https://html.spec.whatwg.org/multipage/server-sent-events.html
//
//     while (auto event = WEFT_TRY(parser.next(bytes))) use(*event);   // then read more bytes
//
// A parser is owned by one fiber at a time; the functions are for any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/chrono.h"
#include "weft/base/result.h"

namespace weft::http::wire {

class EventStreamParser {
public:
    static constexpr std::size_t kEventBytesMax = 256 * 1024;

    // `last_event_id` is that of the last event before this stream, for events without an id.
    explicit EventStreamParser(std::size_t event_bytes_max = kEventBytesMax,
                               std::string_view last_event_id = {})
        : event_bytes_max_(event_bytes_max), id_(last_event_id), last_event_id_(last_event_id) {}

    // Its texts live until the next call.
    struct Event {
        std::string_view type;  // "message" unless the stream says otherwise
        std::string_view data;
        std::string_view last_event_id;
    };
    // Parses the next bytes of the stream up to the next event; what was used is removed from
    // `bytes`. Nothing: all were used, and there is no event yet. An event that the end of the
    // stream cuts off is not given. Limit when an event needs more memory than allowed; after that
    // this must not be called.
    Result<std::optional<Event>> next(Bytes& bytes);

    // To be sent as Last-Event-ID when the stream is requested again.
    std::string_view last_event_id() const { return last_event_id_; }
    // How long to wait before that, if the stream has set it.
    std::optional<std::chrono::milliseconds> retry() const { return retry_; }

private:
    bool add_to_line(std::string_view part);
    std::optional<Event> end_line();
    void set_field(std::string_view name, std::string_view value);
    std::optional<Event> dispatch();
    bool is_within_limit() const;

    Error too_large() const;
    std::size_t event_bytes_max_;
    std::string line_;  // as far as it has come, still as bytes; empty for a comment
    bool first_line_ = true;
    bool comment_ = false;
    bool after_cr_ = false;  // a LF that follows belongs to the same end of line
    std::string type_;
    std::string data_;
    std::string id_;  // "last event ID buffer": lasts from event to event
    std::string last_event_id_;
    std::string given_type_;  // of the event that was given out
    std::string given_data_;
    std::string decoded_;
    std::optional<std::chrono::milliseconds> retry_;
};

struct OutgoingEvent {
    std::optional<std::string_view> id = {};
    std::optional<std::string_view> type = {};
    // Any text; the receiver gets its lines separated by LF, however they ended. Without data the
    // receiver dispatches nothing, but takes id and retry.
    std::optional<std::string_view> data = {};
    std::optional<std::chrono::milliseconds> retry = {};
};
// Misuse if it could not be read back: CR, LF or NUL in id or type, a retry below zero.
Result<std::string> format_event(const OutgoingEvent& event);
// A comment, which keeps the connection alive and is no event. Each line becomes a comment.
std::string format_comment(std::string_view text = {});

}  // namespace weft::http::wire
