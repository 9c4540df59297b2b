#include "weft/http/wire/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>

#include "weft/base/assert.h"

namespace weft::http::wire {
namespace {

// OpenSSL counts in int, so long texts are coded in steps, each of whole groups.
constexpr std::size_t kGroupsMax = 1 << 20;

const unsigned char* as_octets(const void* bytes) {
    return static_cast<const unsigned char*>(bytes);
}

}  // namespace

std::string base64_encode(Bytes bytes) {
    std::string text;
    while (!bytes.empty()) {
        Bytes some = bytes.first(std::min(bytes.size(), 3 * kGroupsMax));
        bytes = bytes.subspan(some.size());
        std::size_t before = text.size();
        // One more for the zero byte that OpenSSL writes behind the text.
        text.resize(before + (some.size() + 2) / 3 * 4 + 1);
        int written = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + before),
                                        as_octets(some.data()), static_cast<int>(some.size()));
        text.pop_back();
        WEFT_ASSERT(static_cast<std::size_t>(written) == text.size() - before);
    }
    return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) return {};
    std::string bytes;
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view some = rest.substr(0, 4 * kGroupsMax);
        rest.remove_prefix(some.size());
        std::size_t before = bytes.size();
        bytes.resize(before + some.size() / 4 * 3);
        int count = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data() + before),
                                      as_octets(some.data()), static_cast<int>(some.size()));
        if (count < 0) return {};
        WEFT_ASSERT(before + static_cast<std::size_t>(count) <= bytes.size());
        bytes.resize(before + static_cast<std::size_t>(count));
    }
    // OpenSSL gives a zero byte for each character of padding.
    std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    if (padding > bytes.size()) return {};
    bytes.resize(bytes.size() - padding);
    // NB: OpenSSL also decodes texts that it would not make: with blanks around them, padding
    // anywhere, bits that belong to no byte.
    if (base64_encode(as_bytes(bytes)) != text) return {};
    return bytes;
}

}  // namespace weft::http::wire
