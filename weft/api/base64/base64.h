// Forgiving base64 (https://infra.spec.whatwg.org/#forgiving-base64). Texts are Latin-1.
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::api {

std::string base64_encode(std::string_view bytes);
// Gives nothing where the standard returns failure: the text has a character outside the alphabet
// or a wrong length.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace weft::api
