#include "weft/http/headers.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

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
    if (wire::is_usual_name(text)) return true;
    return !text.empty() && wire::consists_of(wire::Class::Token, text);
}

bool is_field_value(std::string_view text) {
    if (wire::is_usual_value(text)) return true;
    const char* end = text.data() + text.size();
    return wire::skip_field_value(text.data(), end) == end;
}

static_assert(std::is_trivially_copyable_v<Headers::Field> &&
              std::is_trivially_destructible_v<Headers::Field>);

Headers& Headers::operator=(Headers&& other) noexcept {
    if (this == &other) return *this;
    fields_ = inline_fields();
    capacity_ = kInlineFields;
    size_ = std::exchange(other.size_, 0);
    overflow_ = std::move(other.overflow_);
    owner_ = std::move(other.owner_);
    valid_ = std::exchange(other.valid_, true);
    inline_text_size_ = std::exchange(other.inline_text_size_, 0);
    take_storage(other);
    return *this;
}

// The last step of a move: takes the fields and their texts. `other` is empty afterwards.
void Headers::take_storage(Headers& other) {
    WEFT_DASSERT(other.size_ == 0 && other.inline_text_size_ == 0 && !other.overflow_,
                 "sizes and overflow were taken before");
    if (other.fields_ != other.inline_fields()) {
        fields_ = std::exchange(other.fields_, other.inline_fields());
        capacity_ = std::exchange(other.capacity_, kInlineFields);
    } else {
        std::uninitialized_copy_n(other.fields_, size_, fields_);
    }
    if (inline_text_size_ == 0) return;
    // All of it: a number that the compiler knows is copied faster than fewer.
    std::memcpy(inline_text_, other.inline_text_, kInlineTextBytes);
    // The texts that have come along lie elsewhere now.
    auto follow = [&](std::string_view& text) {
        auto offset = reinterpret_cast<std::uintptr_t>(text.data()) -
                      reinterpret_cast<std::uintptr_t>(other.inline_text_);
        if (offset < kInlineTextBytes) text = {inline_text_ + offset, text.size()};
    };
    for (std::uint32_t i = 0; i < size_; ++i) {
        follow(fields_[i].name);
        follow(fields_[i].value);
    }
}

void Headers::grow(std::size_t capacity) {
    WEFT_ASSERT(capacity > capacity_ && capacity <= UINT32_MAX, "the room for fields only grows");
    if (!overflow_) overflow_ = std::make_unique<Overflow>();
    auto larger = std::make_unique_for_overwrite<Field[]>(capacity);
    std::copy_n(fields_, size_, larger.get());
    WEFT_DASSERT(fields_ == inline_fields() || fields_ == overflow_->fields.get(),
                 "fields are in the object or in the overflow");
    overflow_->fields = std::move(larger);
    fields_ = overflow_->fields.get();
    capacity_ = static_cast<std::uint32_t>(capacity);
}

Headers Headers::copy() const {
    Headers result;
    result.valid_ = valid_;
    result.reserve(size_);
    for (const Field& field : *this)
        result.append({result.copied(field.name), result.copied(field.value)});
    WEFT_DASSERT(result.size_ == size_);
    return result;
}

void Headers::add(std::string_view name, std::string_view value) {
    if (!is_token(name) || !is_field_value(value)) {
        valid_ = false;
        return;
    }
    add_checked(name, value);
}

void Headers::set(std::string_view name, std::string_view value) {
    if (!is_token(name) || !is_field_value(value)) {
        valid_ = false;
        return;
    }
    if (size_ == 0) return add_checked(name, value);
    auto same = [&](const Field& field) { return equal_without_case(field.name, name); };
    Field* end = fields_ + size_;
    Field* first = std::find_if(fields_, end, same);
    // Stored before the others are removed: the name or the value may be a view of one of them.
    Field kept{copied(name), copied(value)};
    if (first == end) return append(kept);
    *first = kept;
    name = kept.name;
    size_ = static_cast<std::uint32_t>(std::remove_if(first + 1, end, same) - fields_);
}

void Headers::remove(std::string_view name) {
    auto same = [&](const Field& field) { return equal_without_case(field.name, name); };
    size_ = static_cast<std::uint32_t>(std::remove_if(fields_, fields_ + size_, same) - fields_);
}

void Headers::clear_overflow() {
    owner_.reset();
    if (!overflow_) return;
    // The last chunk is the largest and is kept, so that reused headers stop allocating.
    overflow_->full_chunks.clear();
    overflow_->chunk.clear();
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
    for (const Field& field : *this) {
        if (equal_without_case(field.name, name)) return field.value;
    }
    return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
    auto same = [&](const Field& field) { return equal_without_case(field.name, name); };
    return static_cast<std::size_t>(std::count_if(begin(), end(), same));
}

std::string Headers::joined(std::string_view name) const {
    std::string list;
    for (const Field& field : *this) {
        if (!equal_without_case(field.name, name)) continue;
        if (!list.empty()) list += ", ";
        list += field.value;
    }
    return list;
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
    for (const Field& field : *this) {
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

std::string_view Headers::store_in_overflow(std::string_view text) {
    if (!overflow_) overflow_ = std::make_unique<Overflow>();
    std::vector<char>& chunk = overflow_->chunk;
    if (chunk.capacity() - chunk.size() < text.size()) {
        std::size_t size = std::clamp(chunk.capacity() * 2, kFirstChunkBytes, kChunkBytesMax);
        if (!chunk.empty()) overflow_->full_chunks.push_back(std::move(chunk));
        chunk = {};
        chunk.reserve(std::max(size, text.size()));
    }
    std::size_t begin = chunk.size();
    WEFT_DASSERT(chunk.capacity() - begin >= text.size(),
                 "a chunk never grows, or its texts would move");
    chunk.insert(chunk.end(), text.begin(), text.end());
    return {chunk.data() + begin, text.size()};
}

}  // namespace weft::http
