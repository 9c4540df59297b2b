// Headers: the fields of a message, in their order, names without regard to case.
//
//     response.headers.set("cache-control", "no-store");
//     if (auto type = request.headers().get("content-type")) ...
//
// The texts of added fields are copied; those that a parser borrows point into its buffer. A field
// that could not be sent as it stands (a name that is no token; CR, LF or NUL in a value) is not
// added, and is_valid() says so from then on: a server answers 500 instead of sending such a
// response, a client refuses to send such a request. A value with one owner.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::http {

bool equal_letters_without_case(const char* a, const char* b, std::size_t size);
// ASCII only, as field names and tokens are.
inline bool equal_without_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() && equal_letters_without_case(a.data(), b.data(), a.size());
}
bool is_token(std::string_view text);
// No control characters but the tab.
bool is_field_value(std::string_view text);

class Headers {
public:
    struct Field {
        std::string_view name;
        std::string_view value;
    };

    Headers() = default;
    Headers(Headers&&) noexcept = default;
    Headers& operator=(Headers&&) noexcept = default;
    Headers copy() const;  // owns all its texts

    void add(std::string_view name, std::string_view value);
    void set(std::string_view name, std::string_view value);  // instead of all of that name
    void remove(std::string_view name);
    void clear();
    void reserve(std::size_t fields) { fields_.reserve(fields); }
    // The caller has checked the field, and its text outlives this object (or the next clear()).
    void add_borrowed(std::string_view name, std::string_view value) { append({name, value}); }
    // What borrowed texts lie in: kept as long as this object (or until the next clear()), together
    // with whoever else shares it.
    void hold(std::shared_ptr<const void> owner) { owner_ = std::move(owner); }

    std::optional<std::string_view> get(std::string_view name) const;  // the first
    bool has(std::string_view name) const { return get(name).has_value(); }
    std::size_t count(std::string_view name) const;
    // RFC 9110 §5.3: all fields of that name as one list.
    std::string joined(std::string_view name) const;
    // Whether one of the comma-separated members of any field of that name is `token`.
    bool has_token(std::string_view name, std::string_view token) const;

    bool is_valid() const { return valid_; }
    bool empty() const { return fields_.empty(); }
    std::size_t size() const { return fields_.size(); }
    const Field* begin() const { return fields_.data(); }
    const Field* end() const { return fields_.data() + fields_.size(); }

private:
    static constexpr std::size_t kFieldsExpected = 8;

    void append(const Field& field) {
        if (fields_.capacity() == 0) fields_.reserve(kFieldsExpected);
        fields_.push_back(field);
    }
    std::string_view keep(std::string_view text);

    std::vector<Field> fields_;
    std::vector<char> chunk_;  // never grows: its texts stay where they are
    std::vector<std::vector<char>> full_chunks_;
    std::shared_ptr<const void> owner_;
    bool valid_ = true;
};

}  // namespace weft::http
