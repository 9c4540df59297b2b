#include "weft/http/wire/sse.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/http/wire/utf8.h"

namespace weft::http::wire {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kLineEnds = "\r\n";

// "If the field value consists of only ASCII digits"; what does not fit is as long as can be.
std::optional<std::chrono::milliseconds> parse_retry(std::string_view value) {
    constexpr std::int64_t kMax = std::chrono::milliseconds(std::chrono::years(1)).count();
    if (value.empty()) return {};
    std::int64_t sum = 0;
    for (char digit : value) {
        if (digit < '0' || digit > '9') return {};
        sum = std::min(sum * 10 + (digit - '0'), kMax);
    }
    return std::chrono::milliseconds(sum);
}

// Takes the first line off the text, and the CR, LF or CRLF behind it.
std::string_view take_line(std::string_view& text) {
    std::size_t end = std::min(text.find_first_of(kLineEnds), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : text.empty() ? 0 : 1);
    return line;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ": ";  // one blank is taken off when it is read
    out += value;
    out += '\n';
}

bool fits_a_line(const std::optional<std::string_view>& value) {
    return !value || value->find_first_of(std::string_view("\r\n\0", 3)) == value->npos;
}

}  // namespace

Error EventStreamParser::too_large() const {
    return Error::limit("an event has more bytes than", event_bytes_max_, "event_bytes_max");
}

Result<std::optional<EventStreamParser::Event>> EventStreamParser::next(Bytes& bytes) {
    while (!bytes.empty()) {
        std::string_view text = as_text(bytes);
        if (std::exchange(after_cr_, false) && text.front() == '\n') {
            bytes = bytes.subspan(1);
            continue;
        }
        std::size_t end = std::min(text.find_first_of(kLineEnds), text.size());
        bool fits = add_to_line(text.substr(0, end));
        if (!fits) return too_large();
        if (end == text.size()) {
            bytes = {};
            break;
        }
        after_cr_ = text[end] == '\r';
        bytes = bytes.subspan(end + 1);
        std::optional<Event> event = end_line();
        if (!is_within_limit()) {
            return too_large();
        }
        if (event) return event;
    }
    return std::optional<Event>();
}

bool EventStreamParser::add_to_line(std::string_view part) {
    if (comment_ || part.empty()) return true;
    // Comments may be of any length: nothing of them is kept.
    comment_ = line_.empty() && part.front() == ':';
    if (comment_) return true;
    if (part.size() > event_bytes_max_) return false;
    line_ += part;
    return is_within_limit();
}

bool EventStreamParser::is_within_limit() const {
    return line_.size() + data_.size() + type_.size() + id_.size() <= event_bytes_max_;
}

// "Parsing an event stream", the steps for a line.
std::optional<EventStreamParser::Event> EventStreamParser::end_line() {
    if (std::exchange(comment_, false)) {
        WEFT_DASSERT(line_.empty(), "nothing of a comment is kept");
        first_line_ = false;
        return {};
    }
    std::string_view line = line_;
    // "UTF-8 decode" takes off one mark, at the beginning of the stream.
    if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark)) {
        line.remove_prefix(kByteOrderMark.size());
    }
    if (line.empty()) {
        line_.clear();
        return dispatch();
    }
    // NB: The ends of lines are ASCII, so a line can be decoded by itself.
    decoded_.clear();
    append_with_replacement(decoded_, line);
    line_.clear();
    line = decoded_;
    std::size_t colon = line.find(':');
    if (colon == line.npos) {
        set_field(line, {});
        return {};
    }
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    set_field(line.substr(0, colon), value);  // an empty name is that of a comment: ignored
    return {};
}

// "Process the field".
void EventStreamParser::set_field(std::string_view name, std::string_view value) {
    if (name == "event") {
        type_ = value;
    } else if (name == "data") {
        data_ += value;
        data_ += '\n';
    } else if (name == "id") {
        if (!value.contains('\0')) id_ = value;
    } else if (name == "retry") {
        if (auto retry = parse_retry(value)) retry_ = retry;
    }
}

// "Dispatch the event".
std::optional<EventStreamParser::Event> EventStreamParser::dispatch() {
    last_event_id_ = id_;
    given_type_ = std::exchange(type_, {});
    given_data_ = std::exchange(data_, {});
    if (given_data_.empty()) return {};
    WEFT_DASSERT(given_data_.back() == '\n', "each line of data ends with LF");
    given_data_.pop_back();
    return Event{.type = given_type_.empty() ? "message" : std::string_view(given_type_),
                 .data = given_data_,
                 .last_event_id = last_event_id_};
}

Result<std::string> format_event(const OutgoingEvent& event) {
    if (!fits_a_line(event.id) || !fits_a_line(event.type)) {
        return Error(ErrorKind::Misuse, "the id or the type of an event has CR, LF or NUL in it");
    }
    if (event.retry && *event.retry < std::chrono::milliseconds::zero()) {
        return Error(ErrorKind::Misuse, "nobody can retry in the past");
    }
    std::string out;
    if (event.id) append_field(out, "id", *event.id);
    if (event.type) append_field(out, "event", *event.type);
    if (event.retry) append_field(out, "retry", std::to_string(event.retry->count()));
    if (event.data) {
        std::string_view rest = *event.data;
        bool more = true;
        while (more) {
            std::size_t before = rest.size();
            std::string_view line = take_line(rest);
            more = line.size() < before;  // a line end was there: another line follows it
            append_field(out, "data", line);
        }
    }
    out += '\n';
    return out;
}

std::string format_comment(std::string_view text) {
    std::string out;
    do {
        out += ": ";
        out += take_line(text);
        out += '\n';
    } while (!text.empty());
    out += '\n';
    return out;
}

}  // namespace weft::http::wire
