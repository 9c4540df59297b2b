// Field lines, which heads and trailers share (RFC 9112 §5), and what they say about framing and
// the connection.
//
// Used by the parsers of this folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/http/headers.h"

namespace weft::http::wire {

// Whether two things that some old servers send are repaired as RFC 9112 requires for responses: a
// field that goes on in the next line (§5.2) and a blank before the colon (§5.1).
enum class OldForms : bool { Refuse, Repair };

// Reads one line after another. A line ends with CRLF and nothing else, and has no control
// character but the tab; without repair it is not folded and has no blank before its colon.
class FieldReader {
public:
    enum class Line : std::uint8_t { Field, End, NeedMore, Malformed };

    FieldReader(const char* begin, const char* end, OldForms old_forms = OldForms::Refuse)
        : at_(begin), end_(end), old_forms_(old_forms) {}

    Line next(Headers::Field& field);
    // The value of the last field was joined from several lines, and lives until the next call.
    bool is_unfolded() const { return is_unfolded_; }
    const char* at() const { return at_; }          // behind the last whole line
    const char* reason() const { return reason_; }  // of Malformed

private:
    Line malformed(const char* reason) {
        reason_ = reason;
        return Line::Malformed;
    }
    Line refuse_name(const char* stop);
    Line read_value(const char* begin, std::string_view& value);
    Line unfold(std::string_view& value);

    const char* at_;
    const char* end_;
    const OldForms old_forms_;
    bool is_unfolded_ = false;
    std::string unfolded_;
    const char* reason_ = "";
};

// What the fields say that decide where a message ends and whether the connection is kept.
struct MessageFields {
    std::string_view host;
    std::string_view content_length;
    std::string_view transfer_encoding;
    unsigned hosts = 0;
    unsigned content_lengths = 0;
    unsigned transfer_encodings = 0;
    bool has_more = false;          // a field besides Host may be one of these, by its size
    bool close = false;             // Connection: close
    bool keep_alive = false;        // Connection: keep-alive
    bool upgrade_option = false;    // Connection: upgrade
    bool has_bad_option = false;    // Connection: something that is no token
    bool has_upgrade = false;       // an Upgrade field
    bool expects_continue = false;  // Expect: 100-continue
    bool expects_other = false;     // any other expectation

    // There is a single Host, and no other field that could matter here.
    bool is_host_alone() const { return hosts == 1 && !has_more; }

    void note(const Headers::Field& field);

private:
    void note_more(const Headers::Field& field);
    void note_connection(std::string_view options);
    void note_expect(std::string_view expectations);
};

// Decimal digits only, below 2^63.
std::optional<std::uint64_t> parse_length(std::string_view text);

}  // namespace weft::http::wire
