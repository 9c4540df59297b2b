#include "weft/http/request.h"

#include <algorithm>

namespace weft::http {

std::optional<std::string_view> Request::parameter(std::string_view name) const {
    auto found = std::find_if(parameters_.rbegin(), parameters_.rend(),
                              [&](const auto& parameter) { return parameter.first == name; });
    if (found == parameters_.rend()) return std::nullopt;
    return found->second;
}

}  // namespace weft::http
