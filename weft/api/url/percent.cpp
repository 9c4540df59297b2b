#include "weft/api/url/percent.h"

namespace weft::api {

void append_percent_encoded(unsigned char byte, std::string& to) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    to += '%';
    to += kDigits[byte >> 4];
    to += kDigits[byte & 15];
}

void append_encoded(std::string_view text, const PercentEncodeSet& set, std::string& to) {
    std::size_t copied = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        auto byte = static_cast<unsigned char>(text[at]);
        if (!set.has(byte)) continue;
        to.append(text, copied, at - copied);
        append_percent_encoded(byte, to);
        copied = at + 1;
    }
    to.append(text, copied);
}

std::string percent_decoded(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        bool escape = text[at] == '%' && at + 2 < text.size();
        int high = escape ? hex_value(text[at + 1]) : -1;
        int low = escape ? hex_value(text[at + 2]) : -1;
        if (high < 0 || low < 0) {
            decoded += text[at];
            continue;
        }
        decoded += static_cast<char>(high << 4 | low);
        at += 2;
    }
    return decoded;
}

}  // namespace weft::api
