// Headers: the fields of a message, in their order; names are compared without regard to case.
//
//     response.headers.set("cache-control", "no-store");
//     if (auto type = request.headers().get("content-type")) ...
//
// The texts of added fields are copied; borrowed texts, as a parser adds them, are not. A field
// that could not be sent as it is (a name that is no token, a control character in a value) is not
// added, and is_valid() is false from then on: a server answers 500 instead of sending such a
// response, and a client refuses to send such a request. A value with one owner; views of its
// fields live until it is changed, moved or destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/assert.h"

namespace weft::http {

bool equal_letters_without_case(const char* a, const char* b, std::size_t size);
// ASCII only, as field names and tokens are.
inline bool equal_without_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() && equal_letters_without_case(a.data(), b.data(), a.size());
}
bool is_token(std::string_view text);
// No control characters except the tab.
bool is_field_value(std::string_view text);

class Headers {
public:
    struct Field {
        std::string_view name;
        std::string_view value;
    };

    Headers() : fields_(inline_fields()) {}
    Headers(Headers&& other) noexcept
        : fields_(inline_fields()),
          size_(std::exchange(other.size_, 0)),
          overflow_(std::move(other.overflow_)),
          owner_(std::move(other.owner_)),
          valid_(std::exchange(other.valid_, true)),
          inline_text_size_(std::exchange(other.inline_text_size_, 0)) {
        take_storage(other);
    }
    Headers& operator=(Headers&& other) noexcept;
    Headers copy() const;  // owns all its texts

    void add(std::string_view name, std::string_view value);
    void set(std::string_view name, std::string_view value);  // replaces all fields of that name
    void remove(std::string_view name);
    void clear() {
        size_ = 0;
        inline_text_size_ = 0;
        valid_ = true;
        if (owner_ || overflow_) clear_overflow();
    }
    void reserve(std::size_t fields) {
        if (fields > capacity_) grow(fields);
    }
    // For a field that the caller has checked; its texts are copied.
    void add_checked(std::string_view name, std::string_view value) {
        append({copied(name), copied(value)});
    }
    // For a checked field whose texts outlive this object (or the next clear()).
    void add_borrowed(std::string_view name, std::string_view value) { append({name, value}); }
    // Keeps what borrowed texts lie in alive as long as this object (or until the next clear()).
    void hold(std::shared_ptr<const void> owner) { owner_ = std::move(owner); }

    std::optional<std::string_view> get(std::string_view name) const;  // the first
    bool has(std::string_view name) const { return get(name).has_value(); }
    std::size_t count(std::string_view name) const;
    // RFC 9110 §5.3: all fields of that name as one list.
    std::string joined(std::string_view name) const;
    // Whether one of the comma-separated members of any field of that name is `token`.
    bool has_token(std::string_view name, std::string_view token) const;

    bool is_valid() const { return valid_; }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    const Field* begin() const { return fields_; }
    const Field* end() const { return fields_ + size_; }

private:
    // A small response has room in the object: neither its fields nor their texts are allocated.
    static constexpr std::size_t kInlineFields = 8;
    static constexpr std::size_t kInlineTextBytes = 128;
    // What does not fit there.
    struct Overflow {
        std::unique_ptr<Field[]> fields;
        std::vector<char> chunk;  // never grows: its texts stay where they are
        std::vector<std::vector<char>> full_chunks;
    };

    Field* inline_fields() { return reinterpret_cast<Field*>(inline_field_bytes_); }
    void append(const Field& field) {
        if (size_ == capacity_) [[unlikely]]
            grow(std::size_t{capacity_} * 2);
        WEFT_DASSERT(size_ < capacity_);
        std::construct_at(fields_ + size_++, field);
    }
    void grow(std::size_t capacity);
    void take_storage(Headers& other);
    void clear_overflow();
    std::string_view copied(std::string_view text) {
        WEFT_DASSERT(inline_text_size_ <= kInlineTextBytes);
        if (text.size() > kInlineTextBytes - inline_text_size_) [[unlikely]]
            return store_in_overflow(text);
        // An empty view may be null, which memcpy() does not allow.
        char* kept = inline_text_ + inline_text_size_;
        if (!text.empty()) std::memcpy(kept, text.data(), text.size());
        inline_text_size_ = static_cast<std::uint8_t>(inline_text_size_ + text.size());
        return {kept, text.size()};
    }
    std::string_view store_in_overflow(std::string_view text);

    Field* fields_;  // in inline_field_bytes_ or in overflow_
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = kInlineFields;
    std::unique_ptr<Overflow> overflow_;
    std::shared_ptr<const void> owner_;
    bool valid_ = true;
    std::uint8_t inline_text_size_ = 0;
    // Not initialized beyond size_ and inline_text_size_.
    alignas(Field) std::byte inline_field_bytes_[kInlineFields * sizeof(Field)];
    char inline_text_[kInlineTextBytes];
};

}  // namespace weft::http
