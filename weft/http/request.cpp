#include "weft/http/request.h"

#include <algorithm>

namespace weft::http {

std::optional<std::string_view> Request::parameter(std::string_view name) const {
    auto found = std::find_if(parameters_.rbegin(), parameters_.rend(),
                              [&](const auto& parameter) { return parameter.first == name; });
    if (found == parameters_.rend()) return std::nullopt;
    return found->second;
}

Result<void> Request::send_informational(std::uint16_t status, const Headers& headers) {
    if (status < 102 || status > 199)
        return Error(ErrorKind::Misuse, "an informational response has a status of 102 to 199");
    if (!informational_)
        return Error(ErrorKind::Misuse, "an informational response comes before the real one");
    return informational_->send(status, headers);
}

}  // namespace weft::http
