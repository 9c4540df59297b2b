// multipart/form-data (RFC 7578, RFC 2046 §5.1.1): the parts of a form, out of bytes as they come.
//
//     MultipartParser parser(boundary);
//     for (;;) {
//         MultipartStep step = parser.next(bytes);       // all bytes that have come and are unused
//         bytes.remove_prefix(step.used);
//         switch (step.event) ...
//     }
//
// Strict, because a filter in front may parse the same body: no text before the first boundary or
// behind the last, no blanks behind a boundary, no folded fields, one name for each part and none
// of its parameters twice, no transfer encodings. A bare CR or LF does not end a line.
//
// Owned by one fiber at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/result.h"

namespace weft::http::wire {

struct MultipartLimits {
    std::size_t parts = 128;
    std::size_t head_bytes = 4096;  // all fields of one part
    std::size_t name_bytes = 256;   // of a name and of a file's name
};

// What the fields of a part say.
struct MultipartPart {
    std::string name;
    std::optional<std::string>
        file_name;             // as the client sent it: not a path, see safe_file_name()
    std::string content_type;  // empty: text/plain
};

struct MultipartStep {
    enum class Event : std::uint8_t {
        NeedMore,  // nothing was used, and more bytes are needed
        Part,      // the head of a part: part()
        Content,   // of the part: `content`
        PartEnd,
        End,     // of the form; whatever follows it is Failed
        Failed,  // error()
    };
    Event event = Event::NeedMore;
    std::size_t used = 0;
    std::string_view content = {};  // in the bytes that were given
};

class MultipartParser {
public:
    explicit MultipartParser(std::string_view boundary, const MultipartLimits& limits = {});

    MultipartStep next(std::string_view bytes);
    // Only these unused bytes are left: Other unless the form has ended.
    Result<void> finish(std::string_view unused) const;

    const MultipartPart& part() const { return part_; }
    // Other for what is malformed, Limit.
    const Error& error() const { return error_; }
    // next() needs no more than so many bytes at once.
    std::size_t bytes_needed_max() const { return limits_.head_bytes + delimiter_.size() + 4; }

private:
    using Event = MultipartStep::Event;
    enum class State : std::uint8_t { Begin, Delimited, Head, Start, Content, End, Failed };

    MultipartStep fail(Error error);
    MultipartStep fail(const char* reason) { return fail(Error(ErrorKind::Other, reason)); }
    MultipartStep take_step(std::string_view bytes);
    MultipartStep begin(std::string_view bytes);
    MultipartStep end_delimiter(std::string_view bytes);
    MultipartStep read_head(std::string_view bytes);
    MultipartStep read_content(std::string_view bytes);
    MultipartStep read_end(std::string_view bytes);
    const char* read_fields(std::string_view head);
    const char* read_disposition(std::string_view value);

    const MultipartLimits limits_;
    const std::string delimiter_;  // CRLF "--" boundary
    State state_ = State::Begin;
    bool has_ended_line_ = false;  // behind the end
    std::size_t parts_ = 0;
    MultipartPart part_;
    Error error_ = ErrorKind::Other;
};

// The boundary of a Content-Type field that is multipart/form-data; Unavailable for another type,
// Other for one without a proper boundary.
Result<std::string> parse_multipart_type(std::string_view content_type);

// The last segment of a file name that a client gave; nothing if it is empty, begins with a dot or
// has control characters.
std::optional<std::string> safe_file_name(std::string_view file_name);

}  // namespace weft::http::wire
