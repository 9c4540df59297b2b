#include "weft/http/headers.h"

#include <algorithm>

#include "weft/http/wire/characters.h"

namespace weft::http {
namespace {

constexpr std::size_t kFirstChunkBytes = 512;
constexpr std::size_t kChunkBytesMax = 16 * 1024;

}  // namespace

bool equal_letters_without_case(const char* a, const char* b, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        if (a[i] != b[i] && wire::to_lower(a[i]) != wire::to_lower(b[i])) return false;
    }
    return true;
}

bool is_token(std::string_view text) {
    return !text.empty() && wire::consists_of(wire::Class::Token, text);
}

bool is_field_value(std::string_view text) {
    const char* end = text.data() + text.size();
    return wire::skip_field_value(text.data(), end) == end;
}

Headers Headers::copy() const {
    Headers result;
    result.valid_ = valid_;
    result.fields_.reserve(fields_.size());
    for (const Field& field : fields_) {
        result.fields_.push_back({result.keep(field.name), result.keep(field.value)});
    }
    return result;
}

void Headers::add(std::string_view name, std::string_view value) {
    if (!is_token(name) || !is_field_value(value)) {
        valid_ = false;
        return;
    }
    append({keep(name), keep(value)});
}

void Headers::set(std::string_view name, std::string_view value) {
    if (!is_token(name) || !is_field_value(value)) {
        valid_ = false;
        return;
    }
    auto same = [&](const Field& field) { return equal_without_case(field.name, name); };
    auto first = std::ranges::find_if(fields_, same);
    if (first == fields_.end()) {
        append({keep(name), keep(value)});
        return;
    }
    // Kept before the others go: the name or the value may be one of theirs.
    *first = {keep(name), keep(value)};
    std::string_view kept = first->name;
    fields_.erase(
        std::remove_if(first + 1, fields_.end(),
                       [&](const Field& field) { return equal_without_case(field.name, kept); }),
        fields_.end());
}

void Headers::remove(std::string_view name) {
    std::erase_if(fields_,
                  [&](const Field& field) { return equal_without_case(field.name, name); });
}

void Headers::clear() {
    fields_.clear();
    owner_.reset();
    valid_ = true;
    // The last chunk is the largest; one that is cleared again and again allocates no more.
    full_chunks_.clear();
    chunk_.clear();
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
    for (const Field& field : fields_) {
        if (equal_without_case(field.name, name)) return field.value;
    }
    return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
    auto same = [&](const Field& field) { return equal_without_case(field.name, name); };
    return static_cast<std::size_t>(std::ranges::count_if(fields_, same));
}

std::string Headers::joined(std::string_view name) const {
    std::string list;
    for (const Field& field : fields_) {
        if (!equal_without_case(field.name, name)) continue;
        if (!list.empty()) list += ", ";
        list += field.value;
    }
    return list;
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
    for (const Field& field : fields_) {
        if (!equal_without_case(field.name, name)) continue;
        std::string_view rest = field.value;
        while (!rest.empty()) {
            std::size_t comma = std::min(rest.find(','), rest.size());
            if (equal_without_case(wire::trim_blanks(rest.substr(0, comma)), token)) return true;
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    return false;
}

std::string_view Headers::keep(std::string_view text) {
    if (text.empty()) return {};
    if (chunk_.capacity() - chunk_.size() < text.size()) {
        std::size_t size = std::clamp(chunk_.capacity() * 2, kFirstChunkBytes, kChunkBytesMax);
        if (!chunk_.empty()) full_chunks_.push_back(std::move(chunk_));
        chunk_ = {};
        chunk_.reserve(std::max(size, text.size()));
    }
    std::size_t begin = chunk_.size();
    chunk_.insert(chunk_.end(), text.begin(), text.end());
    return {chunk_.data() + begin, text.size()};
}

}  // namespace weft::http
