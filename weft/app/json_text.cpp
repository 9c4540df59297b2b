#include "weft/app/json_text.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace weft::app {
namespace {

// Iterates over a text and counts how much the parser has read.
class CountingIterator {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        ++*count_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
        return a.at_ == b.at_;
    }
    friend bool operator!=(const CountingIterator& a, const CountingIterator& b) {
        return !(a == b);
    }

private:
    const char* at_;
    std::size_t* count_;
};

class Builder final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit Builder(std::string_view text) : text_(text) {}

    std::expected<JsonValue, JsonError> read() {
        nlohmann::json::sax_parse(CountingIterator(text_.data(), &read_),
                                  CountingIterator(text_.data() + text_.size(), &read_), this);
        if (has_failed_) return std::unexpected(std::move(error_));
        return std::move(root_);
    }

    bool null() override { return add(simple(JsonValue::Kind::Null, word())); }
    bool boolean(bool flag) override {
        JsonValue value = simple(JsonValue::Kind::Boolean, word());
        value.flag = flag;
        return add(std::move(value));
    }
    bool number_integer(number_integer_t number) override {
        return add_number(static_cast<double>(number));
    }
    bool number_unsigned(number_unsigned_t number) override {
        return add_number(static_cast<double>(number));
    }
    bool number_float(number_float_t number, const string_t&) override {
        return add_number(number);
    }
    bool string(string_t& text) override {
        JsonValue value = simple(JsonValue::Kind::String, quote());
        value.text = std::move(text);
        return add(std::move(value));
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(JsonValue::Kind::Object); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(JsonValue::Kind::Array); }
    bool end_array() override { return close(); }
    bool key(string_t& text) override {
        Place place = place_at(quote());
        JsonValue& object = open_.back();
        if (std::ranges::find(object.keys, text) != object.keys.end()) {
            return fail(place, "the key \"" + text + "\" stands here for the second time");
        }
        object.keys.push_back(std::move(text));
        object.key_places.push_back(place);
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while
        // parsing ... - what". The place is left out, because JsonError has it.
        std::string_view text = error.what();
        std::size_t colon = text.find(": ");
        if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
        return fail(place_at(position == 0 ? 0 : position - 1), without_text(text));
    }

private:
    // "...; last read: '"postgres://...'; expected '}'" quotes a string of the file, which may be
    // secret, so it is removed. Quoted words and punctuation are kept.
    static std::string without_text(std::string_view message) {
        constexpr std::string_view kRead = "; last read: '\"";
        constexpr std::string_view kExpected = "'; expected ";
        std::size_t begin = message.find(kRead);
        if (begin == std::string_view::npos) return std::string(message);
        std::size_t end = message.rfind(kExpected);
        std::string shown(message.substr(0, begin));
        if (end != std::string_view::npos && end > begin) shown.append(message.substr(end + 1));
        return shown;
    }
    // The place of the opening quote, when the parser has just read the closing one. Quotes between
    // them have an odd number of backslashes before them.
    std::size_t quote() const {
        std::size_t at = read_ - 1;
        while (at > 0) {
            at = text_.rfind('"', at - 1);
            std::size_t slash = at;
            while (slash > 0 && text_[slash - 1] == '\\') --slash;
            if ((at - slash) % 2 == 0) return at;
        }
        return 0;
    }
    // The beginning of a word or a number; the parser may have read one character beyond it.
    std::size_t word() const {
        constexpr std::string_view kBetween = " \t\r\n,:[]{}";
        std::size_t at = std::min(read_, text_.size());
        while (at > 0 && kBetween.find(text_[at - 1]) != std::string_view::npos) --at;
        while (at > 0 && kBetween.find(text_[at - 1]) == std::string_view::npos) --at;
        return at;
    }
    Place place_at(std::size_t at) const {
        std::string_view before = text_.substr(0, std::min(at, text_.size()));
        auto lines = static_cast<std::size_t>(std::ranges::count(before, '\n'));
        std::size_t newline = before.rfind('\n');
        std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
        return {lines + 1, before.size() - begin + 1};
    }
    JsonValue simple(JsonValue::Kind kind, std::size_t at) const {
        JsonValue value;
        value.kind = kind;
        value.place = place_at(at);
        std::string_view rest = text_.substr(at);
        value.text = rest.substr(0, rest.find_first_of(" \t\r\n,]}"));
        return value;
    }
    bool add_number(double number) {
        JsonValue value = simple(JsonValue::Kind::Number, word());
        value.number = number;
        return add(std::move(value));
    }
    bool open(JsonValue::Kind kind) {
        JsonValue value;
        value.kind = kind;
        value.place = place_at(read_ - 1);
        if (open_.size() == JsonValue::kDepthMax) {
            return fail(value.place, "nested more deeply than 32 values (JsonValue::kDepthMax)");
        }
        open_.push_back(std::move(value));
        return true;
    }
    bool close() {
        JsonValue value = std::move(open_.back());
        open_.pop_back();
        return add(std::move(value));
    }
    bool add(JsonValue value) {
        if (open_.empty()) {
            root_ = std::move(value);
        } else {
            open_.back().items.push_back(std::move(value));
        }
        return true;
    }
    bool fail(Place place, std::string message) {
        has_failed_ = true;
        error_ = JsonError{place, std::move(message)};
        return false;
    }

    std::string_view text_;
    std::size_t read_ = 0;
    std::vector<JsonValue> open_;
    JsonValue root_;
    bool has_failed_ = false;
    JsonError error_;
};

}  // namespace

std::string_view name_of(JsonValue::Kind kind) {
    switch (kind) {
    case JsonValue::Kind::Null: return "null";
    case JsonValue::Kind::Boolean: return "true or false";
    case JsonValue::Kind::Number: return "a number";
    case JsonValue::Kind::String: return "a text";
    case JsonValue::Kind::Array: return "a list";
    case JsonValue::Kind::Object: return "an object";
    }
    return "";
}

std::expected<JsonValue, JsonError> read_json(std::string_view text) {
    return Builder(text).read();
}

}  // namespace weft::app
