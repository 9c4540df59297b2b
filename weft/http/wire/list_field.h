// A field value that is a list of names with parameters, such as Accept-Encoding (RFC 9110 §12.5.3)
// and Sec-WebSocket-Extensions (RFC 6455 §9.1):
//
//     gzip;q=0.5, br          permessage-deflate; client_max_window_bits="10", foo
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::http::wire {

struct ListParameter {
    std::string_view name;
    std::optional<std::string> value;  // without quotes
};
struct ListMember {
    std::string_view name;
    std::vector<ListParameter> parameters;
};

// Names lie in the text. Empty members are skipped (RFC 9110 §5.6.1.2); nothing if a name is no
// token or a value neither token nor quoted string.
std::optional<std::vector<ListMember>> parse_list_field(std::string_view text);

}  // namespace weft::http::wire
