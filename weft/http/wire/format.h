// Writes the heads of HTTP/1.1 messages behind what a buffer already holds.
//
//     append_status_line(out, 200);
//     append_field(out, "content-length", 5);
//     append_fields(out, response.headers);
//     out += kHeadEnd;
//
// Fields are not checked here: Headers has checked those that were added, and a parser those that
// it borrows. Each call grows the buffer at most once and allocates nothing else. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/http/headers.h"

namespace weft::http::wire {

// "Not Found" of 404; empty for a status that is not registered.
std::string_view reason_phrase(unsigned status);

// 100 to 999.
void append_status_line(std::string& out, unsigned status);
void append_request_line(std::string& out, std::string_view method, std::string_view target);
void append_field(std::string& out, std::string_view name, std::string_view value);
void append_field(std::string& out, std::string_view name, std::uint64_t value);
void append_fields(std::string& out, const Headers& headers);
inline constexpr std::string_view kHeadEnd = "\r\n";

// The whole head of a response in one call, which costs a fraction of the calls above.
struct ResponseHeadText {
    unsigned status = 200;
    const Headers& headers;
    std::string_view date_line = {};  // "Date: ...\r\n", or empty
    std::string_view server = {};     // the values of these fields; empty: no such field
    std::string_view connection = {};
    std::optional<std::uint64_t> length = {};
    bool is_chunked = false;
};
void append_response_head(std::string& out, const ResponseHeadText& head);

struct DecimalText {
    std::array<char, 20> text;
    std::uint8_t begin = 20;
    std::string_view view() const { return {text.data() + begin, text.size() - begin}; }
};
DecimalText decimal(std::uint64_t value);

}  // namespace weft::http::wire
