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

    // The id is that of the last event before this stream: events without one go on with it.
    explicit EventStreamParser(std::size_t event_bytes_max = kEventBytesMax,
                               std::string_view last_event_id = {})
        : event_bytes_max_(event_bytes_max), id_(last_event_id), last_event_id_(last_event_id) {}

    // Its texts live until the next call.
    struct Event {
        std::string_view type;  // "message" unless the stream says otherwise
        std::string_view data;
        std::string_view last_event_id;
    };
    // The next event of the stream, of which these bytes come next; what was used is taken off
    // their front. Nothing: all were used, and there is none yet. An event that the stream ends in
    // is none. Limit when an event needs more memory than allowed; then nothing else is to be
    // asked.
    Result<std::optional<Event>> next(Bytes& bytes);

    // To be sent as Last-Event-ID when the stream is asked for again.
    std::string_view last_event_id() const { return last_event_id_; }
    // How long to wait before that, if the stream has said it.
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
    // Any text; its lines come back separated by LF, however they ended. Without it nothing is
    // dispatched at the other side, though id and retry are noted.
    std::optional<std::string_view> data = {};
    std::optional<std::chrono::milliseconds> retry = {};
};
// Misuse if it could not be read back: CR, LF or NUL in id or type, a retry below zero.
Result<std::string> format_event(const OutgoingEvent& event);
// A comment, which keeps the connection alive and is no event. Its lines become comments each.
std::string format_comment(std::string_view text = {});

}  // namespace weft::http::wire
