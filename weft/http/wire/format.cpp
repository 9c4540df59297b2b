#include "weft/http/wire/format.h"

#include <algorithm>
#include <cstring>

#include "weft/base/assert.h"

namespace weft::http::wire {
namespace {

constexpr unsigned kStatusMin = 100;
constexpr unsigned kStatusEnd = 600;
constexpr std::size_t kReasonBegin = 13;  // behind "HTTP/1.1 200 "

using StatusLines = std::array<std::string_view, kStatusEnd - kStatusMin>;

// https://www.iana.org/assignments/http-status-codes
constexpr std::string_view kRegistered[] = {
    "HTTP/1.1 100 Continue\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n",
    "HTTP/1.1 102 Processing\r\n",
    "HTTP/1.1 103 Early Hints\r\n",
    "HTTP/1.1 104 Upload Resumption Supported\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 201 Created\r\n",
    "HTTP/1.1 202 Accepted\r\n",
    "HTTP/1.1 203 Non-Authoritative Information\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 205 Reset Content\r\n",
    "HTTP/1.1 206 Partial Content\r\n",
    "HTTP/1.1 207 Multi-Status\r\n",
    "HTTP/1.1 208 Already Reported\r\n",
    "HTTP/1.1 226 IM Used\r\n",
    "HTTP/1.1 300 Multiple Choices\r\n",
    "HTTP/1.1 301 Moved Permanently\r\n",
    "HTTP/1.1 302 Found\r\n",
    "HTTP/1.1 303 See Other\r\n",
    "HTTP/1.1 304 Not Modified\r\n",
    "HTTP/1.1 305 Use Proxy\r\n",
    "HTTP/1.1 307 Temporary Redirect\r\n",
    "HTTP/1.1 308 Permanent Redirect\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
    "HTTP/1.1 401 Unauthorized\r\n",
    "HTTP/1.1 402 Payment Required\r\n",
    "HTTP/1.1 403 Forbidden\r\n",
    "HTTP/1.1 404 Not Found\r\n",
    "HTTP/1.1 405 Method Not Allowed\r\n",
    "HTTP/1.1 406 Not Acceptable\r\n",
    "HTTP/1.1 407 Proxy Authentication Required\r\n",
    "HTTP/1.1 408 Request Timeout\r\n",
    "HTTP/1.1 409 Conflict\r\n",
    "HTTP/1.1 410 Gone\r\n",
    "HTTP/1.1 411 Length Required\r\n",
    "HTTP/1.1 412 Precondition Failed\r\n",
    "HTTP/1.1 413 Content Too Large\r\n",
    "HTTP/1.1 414 URI Too Long\r\n",
    "HTTP/1.1 415 Unsupported Media Type\r\n",
    "HTTP/1.1 416 Range Not Satisfiable\r\n",
    "HTTP/1.1 417 Expectation Failed\r\n",
    "HTTP/1.1 421 Misdirected Request\r\n",
    "HTTP/1.1 422 Unprocessable Content\r\n",
    "HTTP/1.1 423 Locked\r\n",
    "HTTP/1.1 424 Failed Dependency\r\n",
    "HTTP/1.1 425 Too Early\r\n",
    "HTTP/1.1 426 Upgrade Required\r\n",
    "HTTP/1.1 428 Precondition Required\r\n",
    "HTTP/1.1 429 Too Many Requests\r\n",
    "HTTP/1.1 431 Request Header Fields Too Large\r\n",
    "HTTP/1.1 451 Unavailable For Legal Reasons\r\n",
    "HTTP/1.1 500 Internal Server Error\r\n",
    "HTTP/1.1 501 Not Implemented\r\n",
    "HTTP/1.1 502 Bad Gateway\r\n",
    "HTTP/1.1 503 Service Unavailable\r\n",
    "HTTP/1.1 504 Gateway Timeout\r\n",
    "HTTP/1.1 505 HTTP Version Not Supported\r\n",
    "HTTP/1.1 506 Variant Also Negotiates\r\n",
    "HTTP/1.1 507 Insufficient Storage\r\n",
    "HTTP/1.1 508 Loop Detected\r\n",
    "HTTP/1.1 510 Not Extended\r\n",
    "HTTP/1.1 511 Network Authentication Required\r\n",
};

constexpr StatusLines make_status_lines() {
    StatusLines lines{};
    for (std::string_view line : kRegistered) {
        auto digit = [&](std::size_t at) { return static_cast<unsigned>(line[at] - '0'); };
        lines[digit(9) * 100 + digit(10) * 10 + digit(11) - kStatusMin] = line;
    }
    return lines;
}

constexpr StatusLines kStatusLines = make_status_lines();

// Empty for a status that is not registered.
std::string_view status_line(unsigned status) {
    return status >= kStatusMin && status < kStatusEnd ? kStatusLines[status - kStatusMin]
                                                       : std::string_view();
}

// Makes room for `bytes` more and has `write` fill them, without clearing them first.
template <class Write>
void append(std::string& out, std::size_t bytes, Write write) {
    std::size_t before = out.size();
    // Doubled here, because resize_and_overwrite() may give exactly what was asked for.
    if (out.capacity() < before + bytes) out.reserve(std::max(before * 2, before + bytes));
    out.resize_and_overwrite(before + bytes, [&](char* text, std::size_t) {
        auto size = static_cast<std::size_t>(write(text + before) - text);
        WEFT_DASSERT(size >= before && size <= before + bytes, "what is written has room");
        return size;
    });
}

// The first bytes and the last ones, which may overlap.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void copy_ends(char* out, const char* text, std::size_t size) {
    std::memcpy(out, text, kBytes);
    std::memcpy(out + size - kBytes, text + size - kBytes, kBytes);
}

// Names and values are short: for them a call of memcpy() costs more than these copies.
[[gnu::always_inline]] inline char* put(char* out, std::string_view text) {
    std::size_t size = text.size();
    if (size > 64) {
        std::memcpy(out, text.data(), size);
    } else if (size > 32) {
        copy_ends<32>(out, text.data(), size);
    } else if (size >= 16) {
        copy_ends<16>(out, text.data(), size);
    } else if (size >= 8) {
        copy_ends<8>(out, text.data(), size);
    } else if (size >= 4) {
        copy_ends<4>(out, text.data(), size);
    } else {
        for (std::size_t i = 0; i < size; ++i) out[i] = text[i];
    }
    return out + size;
}

constexpr std::size_t field_bytes(std::string_view name, std::string_view value) {
    return name.size() + value.size() + 4;
}

char* put_field(char* out, std::string_view name, std::string_view value) {
    out = put(put(out, name), ": ");
    return put(put(out, value), "\r\n");
}

}  // namespace

std::string_view reason_phrase(unsigned status) {
    std::string_view line = status_line(status);
    if (line.empty()) return {};
    return line.substr(kReasonBegin, line.size() - kReasonBegin - 2);
}

void append_status_line(std::string& out, unsigned status) {
    WEFT_ASSERT(status >= kStatusMin && status <= 999);
    if (std::string_view line = status_line(status); !line.empty()) {
        out.append(line);
        return;
    }
    DecimalText digits = decimal(status);
    append(out, kReasonBegin + 2,
           [&](char* text) { return put(put(put(text, "HTTP/1.1 "), digits.view()), " \r\n"); });
}

void append_request_line(std::string& out, std::string_view method, std::string_view target) {
    constexpr std::string_view kVersion = " HTTP/1.1\r\n";
    append(out, method.size() + 1 + target.size() + kVersion.size(), [&](char* text) {
        text = put(put(text, method), " ");
        return put(put(text, target), kVersion);
    });
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    append(out, field_bytes(name, value), [&](char* text) { return put_field(text, name, value); });
}

void append_field(std::string& out, std::string_view name, std::uint64_t value) {
    append_field(out, name, decimal(value).view());
}

void append_fields(std::string& out, const Headers& headers) {
    std::size_t bytes = 0;
    for (const Headers::Field& field : headers) bytes += field_bytes(field.name, field.value);
    append(out, bytes, [&](char* text) {
        for (const Headers::Field& field : headers) text = put_field(text, field.name, field.value);
        return text;
    });
}

void append_response_head(std::string& out, const ResponseHeadText& head) {
    WEFT_ASSERT(head.status >= kStatusMin && head.status <= 999);
    WEFT_DASSERT(!head.length || !head.is_chunked, "a response has one framing");
    WEFT_DASSERT(head.date_line.empty() || head.date_line.ends_with("\r\n"));
    constexpr std::string_view kLength = "Content-Length: ";
    constexpr std::string_view kChunked = "Transfer-Encoding: chunked\r\n";
    constexpr std::string_view kServer = "Server";
    constexpr std::string_view kConnection = "Connection";
    std::string_view line = status_line(head.status);
    std::string other_line;
    if (line.empty()) {
        append_status_line(other_line, head.status);
        line = other_line;
    }
    DecimalText length = decimal(head.length.value_or(0));
    std::size_t bytes = line.size() + head.date_line.size() + field_bytes(kServer, head.server) +
                        field_bytes(kConnection, head.connection) + kLength.size() +
                        length.view().size() + 2 + kChunked.size() + kHeadEnd.size();
    for (const Headers::Field& field : head.headers) bytes += field_bytes(field.name, field.value);
    append(out, bytes, [&](char* text) {
        text = put(text, line);
        for (const Headers::Field& field : head.headers)
            text = put_field(text, field.name, field.value);
        text = put(text, head.date_line);
        if (!head.server.empty()) text = put_field(text, kServer, head.server);
        if (head.length) text = put(put(put(text, kLength), length.view()), "\r\n");
        if (head.is_chunked) text = put(text, kChunked);
        if (!head.connection.empty()) text = put_field(text, kConnection, head.connection);
        return put(text, kHeadEnd);
    });
}

DecimalText decimal(std::uint64_t value) {
    DecimalText result;
    do {
        result.text[--result.begin] = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return result;
}

}  // namespace weft::http::wire
