// The head of an HTTP/1 message: what it says, and how its body is framed.
//
// A parser is given all bytes of the head that have come so far, again from the beginning each
// time, until it is done. It does no I/O, allocates nothing for a field, and keeps views into the
// bytes that it was given last. It is strict: what two implementations could read in two ways is an
// error, with the status of the response, and the connection must be closed after it. Many errors
// are found before the whole head has come.
//
// Refused though some accept it: bare LF, folded fields and blanks before a colon in requests,
// several Content-Length fields even if they are equal, Content-Length beside Transfer-Encoding,
// any Transfer-Encoding but one "chunked" (501 for one other coding, 400 for a list or a
// parameter), any in HTTP/1.0, an empty or repeated Host, a Host that is not that of the absolute
// target.
//
// In responses folded fields are unfolded and blanks before colons removed, as RFC 9112 §5 requires
// of clients and proxies; a status above 599 is accepted. HTTP/1.2 to 1.9 are read as 1.1.
//
//     switch (parser.parse(received)) {
//         case Progress::NeedMore: read more; break;
//         case Progress::Done: use parser.head(); the body begins at parser.consumed(); break;
//         case Progress::Failed: answer parser.error().status and close; break;
//     }
//
// Owned by one fiber at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/base/error.h"
#include "weft/http/headers.h"
#include "weft/http/wire/target.h"

namespace weft::http::wire {

struct MessageFields;

enum class Progress : std::uint8_t { NeedMore, Done, Failed };
enum class Version : std::uint8_t { Http10, Http11 };

struct ParseError {
    std::uint16_t status = 0;  // 400, 414, 417, 431, 501, 505; for responses always 502
    const char* reason = "";   // for people: "two different Content-Length fields"
    // The name and value of the limit that was passed; null when there was none.
    const char* limit_name = nullptr;
    std::size_t limit = 0;

    std::string text() const;  // the reason, with the number of a limit
    // Limit or Other; `what` is put before the reason where no limit was passed.
    Error to_error(std::string_view what) const;
};

// How the body that follows is framed (RFC 9112 §6.3).
enum class Framing : std::uint8_t {
    None,        // there is no body
    Length,      // `length` bytes
    Chunked,     // chunked is the only transfer coding
    UntilClose,  // a response that ends with the connection
};

struct HeadLimits {
    std::size_t head_bytes = 32 * 1024;  // start line and all fields; more is 431
    std::size_t line_bytes = 8 * 1024;   // the request line; more is 414
    std::size_t field_bytes = 8 * 1024;  // one field; more is 431
    std::size_t fields = 100;            // more is 431
    // Of requests: whether targets may have UTF-8 that is not escaped, as some clients send it.
    Utf8Targets utf8_targets = Utf8Targets::Refuse;
};

struct RequestHead {
    std::string_view method;
    std::string_view target;  // as it was sent
    Version version = Version::Http11;
    Headers headers;  // borrowed from the bytes
    Framing framing = Framing::None;
    std::uint64_t length = 0;       // of Framing::Length
    bool keep_alive = true;         // the client would send another request
    bool expects_continue = false;  // "100 Continue" is waited for, and there is a body
    bool upgrades = false;          // Connection: upgrade with an Upgrade field, on HTTP/1.1
    std::string_view host;          // of the Host field, or of an absolute target
};

class RequestParser {
public:
    explicit RequestParser(const HeadLimits& limits = {}) : limits_(limits) {}

    Progress parse(std::string_view bytes);
    std::size_t consumed() const { return consumed_; }
    RequestHead& head() { return head_; }
    const Target& target() const { return target_; }  // of the head
    const ParseError& error() const { return error_; }
    void reset();  // for the next message

private:
    Progress fail(const ParseError& error);
    ParseError line_too_long() const;
    Progress fail(std::uint16_t status, const char* reason) { return fail({status, reason}); }
    Progress attempt(std::string_view bytes);
    Progress parse_line(const char*& at, const char* end);
    bool parse_usual_line(const char*& at, const char* end);
    Progress parse_version(const char*& at, const char* end);
    Progress finish(const MessageFields& said);
    Progress finish_host(const MessageFields& said);

    HeadLimits limits_;
    RequestHead head_;
    Target target_;
    ParseError error_;
    std::size_t consumed_ = 0;
    std::size_t seen_ = 0;      // bytes known not to hold the whole head
    bool line_parsed_ = false;  // those bytes hold the whole request line
};

struct ResponseHead {
    std::uint16_t status = 0;  // 100 to 999; from 600 on as 5xx
    std::string_view reason;
    Version version = Version::Http11;
    Headers headers;
    Framing framing = Framing::None;
    std::uint64_t length = 0;
    bool keep_alive = true;
};

class ResponseParser {
public:
    explicit ResponseParser(const HeadLimits& limits = {}) : limits_(limits) {}

    // The method of the request that it answers decides whether there is a body.
    Progress parse(std::string_view bytes, std::string_view request_method);
    std::size_t consumed() const { return consumed_; }
    ResponseHead& head() { return head_; }
    const ParseError& error() const { return error_; }
    void reset();

private:
    Progress fail(ParseError error);
    Progress fail(const char* reason) { return fail(ParseError{502, reason}); }
    Progress attempt(std::string_view bytes, std::string_view request_method);
    Progress parse_line(const char*& at, const char* end);
    Progress finish(const MessageFields& said, std::string_view request_method);

    HeadLimits limits_;
    ResponseHead head_;
    ParseError error_;
    std::size_t consumed_ = 0;
    std::size_t seen_ = 0;
    bool line_parsed_ = false;
};

}  // namespace weft::http::wire
