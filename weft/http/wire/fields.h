// The lines of fields that heads and trailers share (RFC 9112 §5), and what they say about framing
// and about the connection.
//
// Used by the parsers of this folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/http/headers.h"

namespace weft::http::wire {

// Reads one line after another. A line ends with CRLF and nothing else, is not folded, has no blank
// before its colon and no control character but the tab.
class FieldReader {
public:
    enum class Line : std::uint8_t { Field, End, NeedMore, Malformed };

    FieldReader(const char* begin, const char* end) : at_(begin), end_(end) {}

    Line next(Headers::Field& field);
    const char* at() const { return at_; }          // behind the last whole line
    const char* reason() const { return reason_; }  // of Malformed

private:
    Line malformed(const char* reason) {
        reason_ = reason;
        return Line::Malformed;
    }
    Line refuse_name(const char* stop);

    const char* at_;
    const char* end_;
    const char* reason_ = "";
};

// What was said by the fields that decide where a message ends and what becomes of the connection.
struct MessageFields {
    std::string_view host;
    std::string_view content_length;
    std::string_view transfer_encoding;
    unsigned hosts = 0;
    unsigned content_lengths = 0;
    unsigned transfer_encodings = 0;
    bool close = false;             // Connection: close
    bool keep_alive = false;        // Connection: keep-alive
    bool upgrade_option = false;    // Connection: upgrade
    bool has_bad_option = false;    // Connection: something that is no token
    bool has_upgrade = false;       // an Upgrade field
    bool expects_continue = false;  // Expect: 100-continue
    bool expects_other = false;     // any other expectation

    void note(const Headers::Field& field);

private:
    void note_connection(std::string_view options);
    void note_expect(std::string_view expectations);
};

// Decimal digits only, below 2^63.
std::optional<std::uint64_t> parse_length(std::string_view text);

}  // namespace weft::http::wire
