#include "weft/http/wire/head.h"

#include <algorithm>
#include <cstring>

#include "weft/base/assert.h"
#include "weft/http/wire/characters.h"
#include "weft/http/wire/fields.h"

namespace weft::http::wire {
namespace {

enum class NewBytes : std::uint8_t { None, Line, BareLf, Control };

// What the bytes behind `seen` add. Only the end of a line can make a difference: of the start
// line, or of the empty line behind the fields. So a head that comes byte by byte is parsed a few
// times, and not once for each byte.
NewBytes classify_new_bytes(std::string_view bytes, std::size_t seen, bool line_parsed) {
    WEFT_DASSERT(seen <= bytes.size(), "a parser is given all bytes again");
    for (std::size_t at = seen; at < bytes.size(); ++at) {
        std::size_t lf = bytes.find('\n', at);
        if (!line_parsed) {
            for (char c : bytes.substr(at, lf == bytes.npos ? lf : lf - at)) {
                if (c != '\r' && !is(Class::FieldValue, c)) return NewBytes::Control;
            }
        }
        if (lf == bytes.npos) return NewBytes::None;
        if (lf == 0 || bytes[lf - 1] != '\r') return NewBytes::BareLf;
        bool is_first_empty = lf == 1;
        if (!line_parsed && !is_first_empty) return NewBytes::Line;
        if (lf >= 3 && bytes[lf - 2] == '\n') return NewBytes::Line;
        at = lf;
    }
    return NewBytes::None;
}

// The fast path for most fields: a name, a colon, a value, and no fold behind it. False for
// anything else, which FieldReader then reads.
bool read_usual_field(const char*& at, const char* end, const HeadLimits& limits,
                      OldForms old_forms, Headers& headers, MessageFields& said) {
    const char* name_end = skip_token(at, end);
    if (name_end == at || name_end == end || *name_end != ':') return false;
    const char* value = name_end + 1;
    while (value != end && is_blank(*value)) ++value;
    const char* cr = skip_field_value(value, end);
    if (end - cr < 3 || cr[0] != '\r' || cr[1] != '\n') return false;
    if (old_forms == OldForms::Repair && is_blank(cr[2])) return false;
    const char* line_end = cr + 2;
    if (static_cast<std::size_t>(line_end - at) > limits.field_bytes + 2) return false;
    if (headers.size() == limits.fields) return false;
    WEFT_DASSERT(at < name_end && value <= cr && line_end <= end);
    while (cr != value && is_blank(cr[-1])) --cr;
    Headers::Field field{{at, name_end}, {value, cr}};
    headers.add_borrowed(field.name, field.value);
    said.note(field);
    at = line_end;
    return true;
}

// Parses everything behind the start line. `error` is set with Failed.
Progress parse_fields(const char*& at, const char* end, const HeadLimits& limits,
                      OldForms old_forms, Headers& headers, MessageFields& said,
                      ParseError& error) {
    headers.clear();
    auto fail = [&](const ParseError& failure) {
        error = failure;
        return Progress::Failed;
    };
    while (true) {
        if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') {
            at += 2;
            return Progress::Done;
        }
        if (read_usual_field(at, end, limits, old_forms, headers, said)) [[likely]]
            continue;
        Headers::Field field;
        FieldReader reader(at, end, old_forms);
        FieldReader::Line line = reader.next(field);
        const char* line_end = line == FieldReader::Line::NeedMore ? end : reader.at();
        // Two more for the CRLF.
        if (static_cast<std::size_t>(line_end - at) > limits.field_bytes + 2) {
            return fail({431, "a field has more bytes than", "HeadLimits::field_bytes",
                         limits.field_bytes});
        }
        at = line_end;
        switch (line) {
        case FieldReader::Line::NeedMore: return Progress::NeedMore;
        case FieldReader::Line::Malformed: return fail({400, reader.reason()});
        case FieldReader::Line::End: return Progress::Done;
        case FieldReader::Line::Field: break;
        }
        if (headers.size() == limits.fields)
            return fail({431, "there are more fields than", "HeadLimits::fields", limits.fields});
        if (reader.is_unfolded()) {
            headers.add(field.name, field.value);
            field = headers.end()[-1];
        } else {
            headers.add_borrowed(field.name, field.value);
        }
        said.note(field);
    }
}

constexpr const char* kNoVersion = "a blank in the target, or no HTTP version behind it";

// What is wrong with a character that ends the method; `is_first`: no character came before it.
const char* why_no_method(char c, bool is_first) {
    constexpr char kTlsHandshake = 0x16;
    if (is_first && c == kTlsHandshake) return "TLS, where plain HTTP is spoken";
    if (is_first && is_blank(c)) return "a blank before the method";
    if (c == '\r' || c == '\n') return "a request line without a target";
    return "a character that a method cannot have";
}

bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

const char* why_no_target(char c) {
    if (c == '#') return "a fragment in the target";
    if (c == '\r' || c == '\n') return "no HTTP version behind the target";
    if (is_beyond_ascii(c)) return "a byte beyond ASCII in the target, which must be escaped";
    if (is(Class::FieldValue, c) && c != '\t')
        return "a character in the target that must be escaped";
    return "a control character in the target";
}

bool is_version(const char* text) {
    return std::memcmp(text, "HTTP/", 5) == 0 && is_digit(text[5]) && text[6] == '.' &&
           is_digit(text[7]);
}

// RFC 9110 §2.5: a later minor version of the same major one is read as the one that we know.
Version version_of(const char* text) { return text[7] == '0' ? Version::Http10 : Version::Http11; }

// RFC 9112 §6.3, except the rules about methods and statuses. `framing` is left alone where neither
// field was sent.
ParseError frame(const MessageFields& said, Version version, Framing& framing,
                 std::uint64_t& length) {
    if (said.has_bad_option) return {400, "a Connection that is no list of tokens"};
    if (said.transfer_encodings != 0) {
        if (said.content_lengths != 0) return {400, "Content-Length beside Transfer-Encoding"};
        if (said.transfer_encodings > 1) return {400, "several Transfer-Encoding fields"};
        if (version == Version::Http10) return {400, "Transfer-Encoding in HTTP/1.0"};
        if (!equal_without_case(said.transfer_encoding, "chunked")) {
            if (is_token(said.transfer_encoding)) return {501, "an unknown transfer coding"};
            return {400, "a Transfer-Encoding that is not just chunked"};
        }
        framing = Framing::Chunked;
        return {};
    }
    if (said.content_lengths == 0) return {};
    if (said.content_lengths > 1) return {400, "several Content-Length fields"};
    std::optional<std::uint64_t> value = parse_length(said.content_length);
    if (!value) return {400, "a Content-Length that is no number"};
    framing = Framing::Length;
    length = *value;
    return {};
}

bool stays_open(const MessageFields& said, Version version) {
    return !said.close && (version == Version::Http11 || said.keep_alive);
}

// Four decimal numbers of at most 255, without leading zeros.
bool is_usual_ipv4(std::string_view host) {
    unsigned dots = 0;
    unsigned number = 0;
    std::size_t digits = 0;
    for (char letter : host) {
        if (letter == '.') {
            if (digits == 0) return false;
            ++dots;
            digits = 0;
            number = 0;
            continue;
        }
        if (!is_digit(letter) || (digits != 0 && number == 0)) return false;
        number = 10 * number + static_cast<unsigned>(letter - '0');
        ++digits;
        if (number > 255) return false;
    }
    return dots == 3 && digits != 0;
}

// True is certain. Where the last label could be a number, only a usual IPv4 address is usual; the
// caller parses all others.
bool is_usual_host(std::string_view host) {
    if (!is_usual_name(host)) return false;
    // A last character that no number ends with tells most names.
    char last = host.back();
    if (hex_value(last) < 0 && last != 'x' && last != 'X' && last != '.') return true;
    std::size_t label = host.rfind('.') + 1;
    if (label >= host.size()) return false;
    return !is_digit(host[label]) || is_usual_ipv4(host);
}

bool is_authority_of(const Target& target, const HostPort& host) {
    std::optional<HostPort> authority = parse_host_port(target.authority);
    if (!authority || !equal_without_case(authority->host, host.host)) return false;
    // RFC 9112 §3.2.3 shows a CONNECT whose Host lacks the port.
    if (target.form == Target::Form::Authority && !host.port) return true;
    std::uint16_t usual = default_port(target.scheme);
    return authority->port.value_or(usual) == host.port.value_or(usual);
}

}  // namespace

std::string ParseError::text() const {
    if (!limit_name) return reason;
    return Error::limit(reason, limit, limit_name).message();
}

Error ParseError::to_error(std::string_view what) const {
    if (limit_name) return Error::limit(reason, limit, limit_name);
    return Error(ErrorKind::Other, reason).with_context(what);
}

Progress RequestParser::fail(const ParseError& error) {
    WEFT_ASSERT(error.status != 0, "a failure has a status");
    error_ = error;
    return Progress::Failed;
}

void RequestParser::reset() {
    bool is_fresh = seen_ == 0 && consumed_ == 0 && error_.status == 0;
    if (is_fresh) return;
    if (error_.status != 0) error_ = {};
    head_.method = {};
    head_.target = {};
    head_.headers.clear();
    head_.framing = Framing::None;
    head_.length = 0;
    head_.keep_alive = true;
    head_.expects_continue = false;
    head_.upgrades = false;
    head_.host = {};
    consumed_ = 0;
    seen_ = 0;
    line_parsed_ = false;
}

ParseError RequestParser::line_too_long() const {
    return {414, "the request line has more bytes than", "HeadLimits::line_bytes",
            limits_.line_bytes};
}

Progress RequestParser::parse(std::string_view bytes) {
    if (error_.status != 0) return Progress::Failed;
    std::string_view head = bytes.substr(0, limits_.head_bytes);
    Progress progress = Progress::NeedMore;
    if (seen_ == 0) {
        progress = attempt(head);
    } else {
        switch (classify_new_bytes(head, seen_, line_parsed_)) {
        case NewBytes::None: break;
        case NewBytes::Line: progress = attempt(head); break;
        case NewBytes::BareLf: return fail(400, "a line that ends with a bare LF");
        case NewBytes::Control: return fail(400, "a control character in the request line");
        }
    }
    if (progress != Progress::NeedMore) return progress;
    // Three more than the line: an empty one before it and its CR.
    if (!line_parsed_ && head.size() > limits_.line_bytes + 3) {
        return fail(line_too_long());
    }
    if (head.size() == limits_.head_bytes) {
        return line_parsed_ ? fail({431, "the head has more bytes than", "HeadLimits::head_bytes",
                                    limits_.head_bytes})
                            : fail(line_too_long());
    }
    seen_ = head.size();
    return Progress::NeedMore;
}

Progress RequestParser::attempt(std::string_view bytes) {
    const char* at = bytes.data();
    const char* end = at + bytes.size();
    // RFC 9112 §2.2: at least one empty line before a request SHOULD be ignored.
    if (bytes.starts_with('\r')) {
        if (bytes.size() < 2) return Progress::NeedMore;
        if (bytes[1] != '\n') return fail(400, "a CR without its LF");
        at += 2;
    }
    Progress progress = parse_usual_line(at, end) ? Progress::Done : parse_line(at, end);
    if (progress != Progress::Done) return progress;
    line_parsed_ = true;
    MessageFields said;
    progress = parse_fields(at, end, limits_, OldForms::Refuse, head_.headers, said, error_);
    if (progress != Progress::Done) return progress;
    consumed_ = static_cast<std::size_t>(at - bytes.data());
    WEFT_DASSERT(consumed_ > 0 && consumed_ <= bytes.size());
    return finish(said);
}

// The fast path for most request lines: a path without escapes, and HTTP/1.1. False for anything
// else, which parse_line() then parses.
bool RequestParser::parse_usual_line(const char*& at, const char* end) {
    constexpr std::string_view kRest = " HTTP/1.1\r\n";
    const char* method_end = skip_token(at, end);
    std::string_view method(at, method_end);
    if (end - method_end < 2 || method.empty() || method == "CONNECT") return false;
    const char* path = method_end + 1;
    if (*method_end != ' ' || *path != '/') return false;
    const char* path_end = skip_plain_path(path, end);
    const char* stop = path_end;
    bool has_query = stop != end && *stop == '?';
    if (has_query) stop = skip_target(stop + 1, end);
    if (static_cast<std::size_t>(end - stop) < kRest.size()) return false;
    if (std::memcmp(stop, kRest.data(), kRest.size()) != 0) return false;
    const char* line_end = stop + kRest.size();
    if (static_cast<std::size_t>(line_end - at) > limits_.line_bytes + 2) return false;
    head_.method = method;
    head_.target = {path, stop};
    head_.version = Version::Http11;
    target_ = {};
    target_.path = {path, path_end};
    target_.has_query = has_query;
    if (has_query) target_.query = {path_end + 1, stop};
    at = line_end;
    return true;
}

Progress RequestParser::parse_line(const char*& at, const char* end) {
    const char* begin = at;
    const char* stop = skip(Class::Token, at, end);
    if (stop == end) return Progress::NeedMore;
    if (*stop != ' ' || stop == at) return fail(400, why_no_method(*stop, stop == at));
    head_.method = {at, stop};
    at = stop + 1;
    stop = skip_target(at, end);
    if (limits_.utf8_targets == Utf8Targets::Allow) {
        while (stop != end && is_beyond_ascii(*stop)) stop = skip_target(stop + 1, end);
    }
    if (stop == end) return Progress::NeedMore;
    if (*stop != ' ') return fail(400, why_no_target(*stop));
    head_.target = {at, stop};
    at = stop + 1;
    Progress progress = parse_version(at, end);
    if (progress != Progress::Done) return progress;
    auto line_bytes = static_cast<std::size_t>(at - begin) - 2;
    if (line_bytes > limits_.line_bytes) return fail(line_too_long());
    const char* reason = "";
    std::optional<Target> target =
        parse_target(head_.method, head_.target, limits_.utf8_targets, &reason);
    if (!target) return fail(400, reason);
    target_ = *target;
    return Progress::Done;
}

Progress RequestParser::parse_version(const char*& at, const char* end) {
    constexpr std::string_view kVersion = "HTTP/1.1\r\n";
    std::string_view rest(at, std::min(kVersion.size(), static_cast<std::size_t>(end - at)));
    if (rest.size() < kVersion.size()) {
        // What is not the beginning of a version is refused before all of it has come.
        for (std::size_t i = 0; i < rest.size(); ++i) {
            bool digit = i == 5 || i == 7;
            if (digit ? !is_digit(rest[i]) : rest[i] != kVersion[i]) {
                return fail(400, kNoVersion);
            }
        }
        return Progress::NeedMore;
    }
    if (!is_version(at) || at[8] != '\r' || at[9] != '\n') return fail(400, kNoVersion);
    if (at[5] != '1') return fail(505, "a version other than HTTP/1.0 and 1.1");
    head_.version = version_of(at);
    at += kVersion.size();
    return Progress::Done;
}

Progress RequestParser::finish(const MessageFields& said) {
    // The fast path for most requests without a body: only Host has to be checked.
    if (said.is_host_alone() && head_.version == Version::Http11 &&
        target_.form == Target::Form::Origin && is_usual_host(said.host)) [[likely]] {
        head_.host = said.host;
        return Progress::Done;
    }
    if (ParseError error = frame(said, head_.version, head_.framing, head_.length); error.status) {
        return fail(error);
    }
    WEFT_DASSERT(head_.framing != Framing::UntilClose &&
                     (head_.length == 0 || head_.framing == Framing::Length),
                 "a request says where its body ends");
    bool has_body = head_.framing == Framing::Chunked || head_.length != 0;
    if (has_body && head_.method == "CONNECT") return fail(400, "a CONNECT with a body");
    if (Progress progress = finish_host(said); progress != Progress::Done) return progress;
    head_.keep_alive = stays_open(said, head_.version);
    if (head_.version == Version::Http10) return Progress::Done;
    // RFC 9110 §10.1.1: a 100-continue in HTTP/1.0 MUST be ignored; §7.8: so must Upgrade.
    if (said.expects_other) return fail(417, "an expectation other than 100-continue");
    head_.expects_continue = said.expects_continue && has_body;
    head_.upgrades = said.upgrade_option && said.has_upgrade;
    return Progress::Done;
}

Progress RequestParser::finish_host(const MessageFields& said) {
    bool has_authority =
        target_.form == Target::Form::Absolute || target_.form == Target::Form::Authority;
    if (has_authority) head_.host = target_.authority;
    if (said.hosts == 0) {
        if (head_.version == Version::Http11) return fail(400, "no Host field");
        return Progress::Done;
    }
    if (said.hosts > 1) return fail(400, "several Host fields");
    if (!has_authority && is_usual_host(said.host)) {
        head_.host = said.host;
        return Progress::Done;
    }
    std::optional<HostPort> host = parse_host_port(said.host);
    if (!host)
        return fail(400, said.host.empty() ? "an empty Host" : "a Host that is no host[:port]");
    if (has_authority && !is_authority_of(target_, *host)) {
        return fail(400, "a Host other than that of the target");
    }
    if (!has_authority) head_.host = said.host;
    return Progress::Done;
}

Progress ResponseParser::fail(ParseError error) {
    error.status = 502;
    error_ = error;
    return Progress::Failed;
}

void ResponseParser::reset() {
    head_.status = 0;
    head_.reason = {};
    head_.headers.clear();
    head_.framing = Framing::None;
    head_.length = 0;
    head_.keep_alive = true;
    error_ = {};
    consumed_ = 0;
    seen_ = 0;
    line_parsed_ = false;
}

Progress ResponseParser::parse(std::string_view bytes, std::string_view request_method) {
    if (error_.status != 0) return Progress::Failed;
    std::string_view head = bytes.substr(0, limits_.head_bytes);
    Progress progress = Progress::NeedMore;
    if (seen_ == 0) {
        progress = attempt(head, request_method);
    } else {
        switch (classify_new_bytes(head, seen_, line_parsed_)) {
        case NewBytes::None: break;
        case NewBytes::Line: progress = attempt(head, request_method); break;
        case NewBytes::BareLf: return fail("a line that ends with a bare LF");
        case NewBytes::Control: return fail("a control character in the status line");
        }
    }
    if (progress != Progress::NeedMore) return progress;
    if (head.size() == limits_.head_bytes)
        return fail(
            {502, "the head has more bytes than", "HeadLimits::head_bytes", limits_.head_bytes});
    seen_ = head.size();
    return Progress::NeedMore;
}

Progress ResponseParser::attempt(std::string_view bytes, std::string_view request_method) {
    const char* at = bytes.data();
    const char* end = at + bytes.size();
    Progress progress = parse_line(at, end);
    if (progress != Progress::Done) return progress;
    line_parsed_ = true;
    MessageFields said;
    progress = parse_fields(at, end, limits_, OldForms::Repair, head_.headers, said, error_);
    if (progress == Progress::Failed) return fail(error_);
    if (progress != Progress::Done) return progress;
    consumed_ = static_cast<std::size_t>(at - bytes.data());
    WEFT_DASSERT(consumed_ > 0 && consumed_ <= bytes.size());
    return finish(said, request_method);
}

Progress ResponseParser::parse_line(const char*& at, const char* end) {
    constexpr std::ptrdiff_t kVersionBytes = 8;
    constexpr std::ptrdiff_t kStatusLineEnd = 12;  // "HTTP/1.1 200"
    if (at == end) return Progress::NeedMore;
    if (*at != 'H') return fail("no version at the beginning");
    const char* cr = skip_field_value(at, end);
    if (static_cast<std::size_t>(cr - at) > limits_.line_bytes) {
        return fail({502, "the status line has more bytes than", "HeadLimits::line_bytes",
                     limits_.line_bytes});
    }
    if (cr == end) return Progress::NeedMore;
    if (*cr != '\r') return fail("a control character in the status line");
    if (end - cr < 2) return Progress::NeedMore;
    if (cr[1] != '\n') return fail("a CR without its LF");
    if (cr - at < kStatusLineEnd || !is_version(at) || at[kVersionBytes] != ' ') {
        return fail("no version at the beginning");
    }
    if (at[5] != '1') return fail("a version other than HTTP/1.0 and 1.1");
    const char* status = at + kVersionBytes + 1;
    if (!is_digit(status[0]) || !is_digit(status[1]) || !is_digit(status[2])) {
        return fail("a status that is no number");
    }
    // RFC 9110 §15: those from 600 on are none, and are treated as 5xx.
    if (status[0] == '0') return fail("a status below 100");
    // NB: RFC 9112 §4 wants the blank even before an empty reason; many servers leave it out.
    if (cr - at > kStatusLineEnd && at[kStatusLineEnd] != ' ')
        return fail("a status of four digits");
    head_.version = version_of(at);
    head_.status = static_cast<std::uint16_t>((status[0] - '0') * 100 + (status[1] - '0') * 10 +
                                              (status[2] - '0'));
    const char* reason = std::min(at + kStatusLineEnd + 1, cr);
    head_.reason = {reason, cr};
    at = cr + 2;
    return Progress::Done;
}

Progress ResponseParser::finish(const MessageFields& said, std::string_view request_method) {
    unsigned status = head_.status;
    WEFT_DASSERT(status >= 100 && status <= 999);
    head_.framing = Framing::UntilClose;
    // RFC 9110 §9.3.6: a client MUST ignore what is said of a body where a tunnel begins.
    bool is_tunnel = request_method == "CONNECT" && status >= 200 && status < 300;
    ParseError error;
    if (!is_tunnel) error = frame(said, head_.version, head_.framing, head_.length);
    if (error.status) return fail(error);
    head_.keep_alive = stays_open(said, head_.version);
    bool never_has_body = status < 200 || status == 204;
    bool has_none = never_has_body || status == 304 || request_method == "HEAD" || is_tunnel;
    // A server that announces a body here may well send it, and nothing would read that.
    bool announces = head_.framing == Framing::Chunked || head_.length != 0;
    if (never_has_body && announces) head_.keep_alive = false;
    if (has_none) head_.framing = Framing::None;
    if (head_.framing == Framing::UntilClose) head_.keep_alive = false;
    return Progress::Done;
}

}  // namespace weft::http::wire
