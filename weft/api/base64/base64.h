// Forgiving base64 (https://infra.spec.whatwg.org/#forgiving-base64). Texts are Latin-1.
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::api {

std::string base64_encode(std::string_view bytes);
// Nothing where the standard says failure: a character that is none of base64's, a wrong length.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace weft::api
