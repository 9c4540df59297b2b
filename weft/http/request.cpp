#include "weft/http/request.h"

namespace weft::http {

std::optional<std::string_view> Request::parameter(std::string_view name) const {
    for (const auto& [key, value] : parameters_) {
        if (key == name) return value;
    }
    return std::nullopt;
}

}  // namespace weft::http
