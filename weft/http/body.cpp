#include "weft/http/body.h"

#include <algorithm>

namespace weft::http {
namespace {

Error too_large(std::size_t bytes_max) {
    return Error::limit("the body has more bytes than", bytes_max, "read_all(bytes_max)");
}

}  // namespace

Result<std::string> BodyReader::read_all(std::size_t bytes_max) {
    constexpr std::size_t kStep = 16 * 1024;
    std::string text;
    if (auto known = size()) {
        if (*known > bytes_max) return too_large(bytes_max);
        text.reserve(std::min<std::uint64_t>(*known, 1024 * 1024));
    }
    for (;;) {
        std::size_t before = text.size();
        text.resize(before + kStep);
        std::size_t count = WEFT_TRY(read(std::as_writable_bytes(std::span(text).subspan(before))));
        WEFT_ASSERT(count <= kStep, "a reader gives no more bytes than there is room for");
        text.resize(before + count);
        if (count == 0) return text;
        if (text.size() > bytes_max) return too_large(bytes_max);
        WEFT_TRY(hold(count));
    }
}

std::optional<std::uint64_t> Body::size_of_others() const {
    if (auto known = text_of_others()) return known->size();
    if (const auto* part = std::get_if<FilePart>(&content_)) return part->count;
    return std::get<Produced>(content_).size;
}

std::optional<std::string_view> Body::text_of_others() const {
    if (const auto* owned = std::get_if<std::string>(&content_)) return *owned;
    if (const auto* shared = std::get_if<SharedText>(&content_)) return shared->text;
    return std::nullopt;
}

}  // namespace weft::http
