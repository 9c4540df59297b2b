// Value: one cell of a row or one parameter. A value type.
//
//     Value price = WEFT_TRY(Value::decimal("12.50"));
//     std::int64_t id = WEFT_TRY(row.get<std::int64_t>("id"));
//
// Nothing is rounded: 64-bit integers are integers, and what C++ has no exact type for (decimals,
// dates, times, UUIDs, JSON) is kept as its canonical text, with a type that says what the text is.
// The functions that return a Result refuse text that does not have the form of its type; their
// errors never show the text, which may be a secret.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/result.h"

namespace weft::data {

enum class Type : std::uint8_t {
    Null,
    Boolean,
    Integer,         // 64 bits
    Real,            // a double
    Decimal,         // "-12.50"; digits, one dot, an exponent; as given, never rounded
    Text,            // UTF-8
    Bytes,           // anything
    Json,            // a JSON text
    Uuid,            // "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    Date,            // "2026-11-18"
    Time,            // "23:59:59.123456"
    Timestamp,       // "2026-11-18T23:59:59.5": a local date and time
    Instant,         // "2026-11-18T23:59:59.5Z": a point in time
    OffsetDateTime,  // "2026-11-18T23:59:59.5+02:00": a point in time, and where
    Array,           // of values, as PostgreSQL has them
};
std::string_view to_string(Type type) noexcept;  // "integer"

class Value {
public:
    using Items = std::vector<Value>;

    Value() = default;  // null
    Value(std::nullptr_t) {}
    Value(std::nullopt_t) {}
    template <std::same_as<bool> Boolean>
    Value(Boolean value) : type_(Type::Boolean), content_(value) {}
    // An unsigned 64-bit integer does not fit; pass it as a decimal.
    template <std::integral Integer>
        requires(!std::same_as<Integer, bool> &&
                 (std::signed_integral<Integer> || sizeof(Integer) < sizeof(std::int64_t)))
    Value(Integer value) : type_(Type::Integer), content_(static_cast<std::int64_t>(value)) {}
    template <std::floating_point Real>
    Value(Real value) : type_(Type::Real), content_(static_cast<double>(value)) {}
    Value(std::string text) : type_(Type::Text), content_(std::move(text)) {}
    Value(std::string_view text) : Value(std::string(text)) {}
    Value(const char* text) : Value(std::string(text)) {}
    template <class T>
    Value(const std::optional<T>& value) {
        if (value) *this = Value(*value);
    }

    static Value bytes(std::span<const std::byte> bytes);
    static Value array(Items items);
    // Misuse unless the text has the form that Type shows.
    static Result<Value> decimal(std::string_view text);
    static Result<Value> json(std::string_view text);
    static Result<Value> uuid(std::string_view text);  // any case; kept in lower case
    static Result<Value> date(std::string_view text);
    static Result<Value> time(std::string_view text);
    static Result<Value> timestamp(std::string_view text);  // a blank in place of the T is accepted
    static Result<Value> instant(std::string_view text);
    static Result<Value> offset_date_time(std::string_view text);
    // For providers: a text from the database that has the canonical form of this type already.
    static Value trusted(Type type, std::string text) { return Value(type, std::move(text)); }

    Type type() const { return type_; }
    bool is_null() const { return type_ == Type::Null; }
    // The content. The caller has checked the type; a wrong one is a broken invariant.
    bool boolean() const {
        WEFT_DASSERT(type_ == Type::Boolean, "the caller has checked the type");
        return std::get<bool>(content_);
    }
    std::int64_t integer() const {
        WEFT_DASSERT(type_ == Type::Integer, "the caller has checked the type");
        return std::get<std::int64_t>(content_);
    }
    double real() const {
        WEFT_DASSERT(type_ == Type::Real, "the caller has checked the type");
        return std::get<double>(content_);
    }
    // For the types that are kept as text, and for bytes.
    const std::string& text() const {
        WEFT_DASSERT(is_textual(), "the caller has checked the type");
        return std::get<std::string>(content_);
    }
    std::span<const std::byte> byte_span() const { return std::as_bytes(std::span(text())); }
    const Items& items() const {
        WEFT_DASSERT(type_ == Type::Array, "the caller has checked the type");
        return *std::get<std::shared_ptr<const Items>>(content_);
    }
    bool is_textual() const { return std::holds_alternative<std::string>(content_); }

    // Converts to a C++ type: bool, integers (range checked), double (also from integers that a
    // double holds exactly), std::string (any textual type but bytes), std::vector<std::byte>,
    // Value, and std::optional of these for null. Misuse names both types when they do not fit.
    template <class T>
    Result<T> get() const;

    // Equal if type and content are. Real numbers compare as numbers.
    friend bool operator==(const Value& a, const Value& b);

private:
    Value(Type type, std::string text) : type_(type), content_(std::move(text)) {
        WEFT_DASSERT(type_ != Type::Null && type_ != Type::Boolean && type_ != Type::Integer &&
                         type_ != Type::Real && type_ != Type::Array,
                     "these types are not kept as text");
    }

    Result<std::int64_t> to_integer(std::int64_t least, std::int64_t most) const;
    Result<double> to_real() const;
    Result<std::string> to_text() const;
    Error unfit(std::string_view wanted) const;

    Type type_ = Type::Null;
    // An array is shared by the copies of its value and never changes.
    std::variant<std::monostate, bool, std::int64_t, double, std::string,
                 std::shared_ptr<const Items>>
        content_;
};

// ---------------------------------------------------------------- inline parts

namespace value_internal {
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
}  // namespace value_internal

template <class T>
Result<T> Value::get() const {
    if constexpr (value_internal::is_optional<T>) {
        if (is_null()) return T();
        return T(WEFT_TRY(get<typename T::value_type>()));
    } else if constexpr (std::same_as<T, Value>) {
        return *this;
    } else if constexpr (std::same_as<T, bool>) {
        if (type_ == Type::Boolean) return boolean();
        // Databases without a boolean type store 0 and 1.
        return WEFT_TRY(to_integer(0, 1))
        == 1;
    } else if constexpr (std::integral<T>) {
        static_assert(std::signed_integral<T> || sizeof(T) < sizeof(std::int64_t));
        constexpr auto least = std::int64_t{std::numeric_limits<T>::min()};
        constexpr auto most = std::int64_t{std::numeric_limits<T>::max()};
        return static_cast<T>(WEFT_TRY(to_integer(least, most)));
    } else if constexpr (std::floating_point<T>) {
        return static_cast<T>(WEFT_TRY(to_real()));
    } else if constexpr (std::same_as<T, std::vector<std::byte>>) {
        if (type_ != Type::Bytes) return unfit("bytes");
        return T(byte_span().begin(), byte_span().end());
    } else {
        static_assert(std::same_as<T, std::string>, "no such type in a database");
        return to_text();
    }
}

}  // namespace weft::data
