#include "weft/http/wire/multipart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/http/headers.h"
#include "weft/http/wire/characters.h"
#include "weft/http/wire/list_field.h"

namespace weft::http::wire {
namespace {

constexpr std::size_t kBoundaryBytesMax = 70;  // RFC 2046 §5.1.1
constexpr std::string_view kLineEnd = "\r\n";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// RFC 2046 §5.1.1: bchars, the last of which is no blank.
bool is_boundary(std::string_view text) {
    return !text.empty() && text.size() <= kBoundaryBytesMax && text.back() != ' ' &&
           std::ranges::all_of(text, [](char c) {
               return is_digit(c) || is_alpha(c) ||
                      std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
           });
}

// Reads a quoted string from behind its first quote to behind its last. Browsers leave a backslash
// as it is, others escape it; so it escapes only a quote or another backslash.
bool read_quoted(std::string_view& text, std::string& value) {
    while (!text.empty()) {
        char c = text.front();
        text.remove_prefix(1);
        if (c == '"') return true;
        if (c == '\\' && !text.empty() && (text.front() == '"' || text.front() == '\\')) {
            c = text.front();
            text.remove_prefix(1);
        }
        if (is_control(c)) return false;
        value += c;
    }
    return false;
}

bool is_kept_as_it_is(std::string_view encoding) {
    return equal_without_case(encoding, "7bit") || equal_without_case(encoding, "8bit") ||
           equal_without_case(encoding, "binary");
}

}  // namespace

MultipartParser::MultipartParser(std::string_view boundary, const MultipartLimits& limits)
    : limits_(limits), delimiter_(std::string("\r\n--").append(boundary)) {
    WEFT_ASSERT(!boundary.empty(), "a form has a boundary");
}

MultipartStep MultipartParser::fail(Error error) {
    state_ = State::Failed;
    error_ = std::move(error);
    return {Event::Failed};
}

MultipartStep MultipartParser::next(std::string_view bytes) {
    MultipartStep step = take_step(bytes);
    WEFT_ASSERT(step.used <= bytes.size() && step.content.size() <= step.used);
    WEFT_ASSERT(step.event != Event::NeedMore || step.used == 0);
    return step;
}

MultipartStep MultipartParser::take_step(std::string_view bytes) {
    switch (state_) {
    case State::Begin: return begin(bytes);
    case State::Delimited: return end_delimiter(bytes);
    case State::Head: return read_head(bytes);
    case State::Start:
    case State::Content: return read_content(bytes);
    case State::End: return read_end(bytes);
    case State::Failed: break;
    }
    return {Event::Failed};
}

// The first boundary, before which some put an empty line.
MultipartStep MultipartParser::begin(std::string_view bytes) {
    std::string_view whole = delimiter_;
    if (!bytes.starts_with('\r')) whole.remove_prefix(kLineEnd.size());
    std::size_t count = std::min(bytes.size(), whole.size());
    if (bytes.substr(0, count) != whole.substr(0, count))
        return fail("the form does not begin with its boundary");
    if (count < whole.size()) return {};
    state_ = State::Delimited;
    MultipartStep step = end_delimiter(bytes.substr(count));
    // Both in one step, so that a step that uses bytes always has an event.
    if (step.event == Event::NeedMore) {
        state_ = State::Begin;
        return {};
    }
    step.used += count;
    return step;
}

// What is behind a boundary: the head of a part, or the end.
MultipartStep MultipartParser::end_delimiter(std::string_view bytes) {
    if (bytes.size() < 2) return {};
    std::string_view two = bytes.substr(0, 2);
    if (two == "--") {
        state_ = State::End;
        return {Event::End, 2};
    }
    if (two != kLineEnd) return fail("a boundary of the form is followed by something else");
    if (++parts_ > limits_.parts)
        return fail(
            Error::limit("the form has more parts than", limits_.parts, "MultipartLimits::parts"));
    state_ = State::Head;
    MultipartStep step = read_head(bytes.substr(2));
    if (step.event == Event::NeedMore) {
        --parts_;
        state_ = State::Delimited;
        return {};
    }
    step.used += 2;
    return step;
}

MultipartStep MultipartParser::read_head(std::string_view bytes) {
    std::size_t end = bytes.substr(0, limits_.head_bytes).find("\r\n\r\n");
    if (end == bytes.npos) {
        if (bytes.size() < limits_.head_bytes) return {};
        return fail(Error::limit("the head of a part has more bytes than", limits_.head_bytes,
                                 "MultipartLimits::head_bytes"));
    }
    part_ = {};
    if (const char* mistake = read_fields(bytes.substr(0, end))) return fail(mistake);
    if (std::max(part_.name.size(), part_.file_name.value_or("").size()) > limits_.name_bytes)
        return fail(Error::limit("a name in the form has more bytes than", limits_.name_bytes,
                                 "MultipartLimits::name_bytes"));
    state_ = State::Start;
    return {Event::Part, end + 4};
}

// Null, or what is wrong.
const char* MultipartParser::read_fields(std::string_view head) {
    bool has_disposition = false;
    bool has_type = false;
    for (std::string_view rest = head; !rest.empty();) {
        std::string_view line = rest.substr(0, rest.find(kLineEnd));
        rest.remove_prefix(std::min(line.size() + kLineEnd.size(), rest.size()));
        std::size_t colon = line.find(':');
        if (colon == line.npos || !is_token(line.substr(0, colon)))
            return "a field of a part is malformed";
        std::string_view name = line.substr(0, colon);
        std::string_view value = trim_blanks(line.substr(colon + 1));
        if (!is_field_value(value)) return "a field of a part is malformed";
        if (equal_without_case(name, "content-disposition")) {
            if (std::exchange(has_disposition, true)) return "a part has two dispositions";
            if (const char* mistake = read_disposition(value)) return mistake;
        } else if (equal_without_case(name, "content-type")) {
            if (std::exchange(has_type, true)) return "a part has two types";
            part_.content_type = value;
        } else if (equal_without_case(name, "content-transfer-encoding")) {
            // RFC 7578 §4.7: senders SHOULD NOT use it.
            if (!is_kept_as_it_is(value)) return "a part has a transfer encoding";
        }
    }
    return has_disposition ? nullptr : "a part has no disposition";
}

// form-data *( ";" name "=" value )
const char* MultipartParser::read_disposition(std::string_view value) {
    constexpr const char* kMalformed = "the disposition of a part is malformed";
    std::size_t semicolon = std::min(value.find(';'), value.size());
    if (!equal_without_case(trim_blanks(value.substr(0, semicolon)), "form-data"))
        return "a part is no form-data";
    std::optional<std::string> name;
    for (std::string_view rest = value.substr(semicolon); !rest.empty();) {
        if (rest.front() != ';') return kMalformed;
        rest = trim_blanks(rest.substr(1));
        std::size_t equals = rest.find('=');
        if (equals == rest.npos || !is_token(rest.substr(0, equals))) return kMalformed;
        std::string_view key = rest.substr(0, equals);
        rest.remove_prefix(equals + 1);
        std::string text;
        if (rest.starts_with('"')) {
            rest.remove_prefix(1);
            if (!read_quoted(rest, text)) return kMalformed;
        } else {
            text = rest.substr(0, rest.find_first_of("; \t"));
            if (!is_token(text)) return kMalformed;
            rest.remove_prefix(text.size());
        }
        rest = trim_blanks(rest);
        // RFC 7578 §4.2: filename* MUST NOT be used; a filter may read the one, we the other.
        if (equal_without_case(key, "filename*")) return "a part has an encoded name";
        bool is_name = equal_without_case(key, "name");
        if (!is_name && !equal_without_case(key, "filename")) continue;
        std::optional<std::string>& place = is_name ? name : part_.file_name;
        if (place) return "a part has two names";
        place = std::move(text);
    }
    if (!name) return "a part has no name";
    part_.name = std::move(*name);
    return nullptr;
}

MultipartStep MultipartParser::read_content(std::string_view bytes) {
    if (state_ == State::Start) {
        // The empty line before it would belong to the head for some and to the boundary for
        // others.
        std::string_view boundary = std::string_view(delimiter_).substr(kLineEnd.size());
        std::size_t count = std::min(bytes.size(), boundary.size());
        if (bytes.substr(0, count) == boundary.substr(0, count)) {
            if (count < boundary.size()) return {};
            return fail("a part has neither content nor an empty line before its boundary");
        }
        state_ = State::Content;
    }
    std::size_t at = bytes.find(delimiter_);
    if (at == 0) {
        state_ = State::Delimited;
        return {Event::PartEnd, delimiter_.size()};
    }
    if (at == bytes.npos) {
        // Bytes that could be the beginning of a boundary, from the last CR on, wait for the rest.
        at = bytes.size();
        std::size_t last = bytes.rfind('\r');
        if (last != bytes.npos && delimiter_.starts_with(bytes.substr(last))) at = last;
    }
    if (at == 0) return {};
    return {Event::Content, at, bytes.substr(0, at)};
}

// Nothing but the end of the line.
MultipartStep MultipartParser::read_end(std::string_view bytes) {
    if (bytes.empty() || (bytes == "\r" && !has_ended_line_)) return {};
    if (bytes != kLineEnd || has_ended_line_) return fail("there is something behind the form");
    has_ended_line_ = true;
    return {Event::End, kLineEnd.size()};
}

Result<void> MultipartParser::finish(std::string_view unused) const {
    if (state_ == State::End && unused.empty()) return {};
    if (state_ == State::End) return Error(ErrorKind::Other, "there is something behind the form");
    if (state_ == State::Failed) return error_;
    return Error(ErrorKind::Other, "the form was cut off");
}

Result<std::string> parse_multipart_type(std::string_view content_type) {
    std::size_t semicolon = std::min(content_type.find(';'), content_type.size());
    if (!equal_without_case(trim_blanks(content_type.substr(0, semicolon)), "multipart/form-data"))
        return Error(ErrorKind::Unavailable, "the content is no multipart/form-data");
    // A media type is no token, but its parameters are those of a list.
    std::string list = "x" + std::string(content_type.substr(semicolon));
    auto members = parse_list_field(list);
    Error malformed(ErrorKind::Other, "the multipart/form-data has no proper boundary");
    if (!members || members->size() != 1) return malformed;
    std::optional<std::string> boundary;
    for (const ListParameter& parameter : members->front().parameters) {
        if (!equal_without_case(parameter.name, "boundary")) continue;
        if (boundary || !parameter.value) return malformed;
        boundary = parameter.value;
    }
    if (!boundary || !is_boundary(*boundary)) return malformed;
    return *boundary;
}

std::optional<std::string> safe_file_name(std::string_view file_name) {
    std::size_t slash = file_name.find_last_of("/\\");
    std::string_view name = slash == file_name.npos ? file_name : file_name.substr(slash + 1);
    if (name.empty() || name.front() == '.' || std::ranges::any_of(name, is_control)) return {};
    return std::string(name);
}

}  // namespace weft::http::wire
