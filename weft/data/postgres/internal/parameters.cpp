#include "weft/data/postgres/internal/parameters.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/arrays.h"

namespace weft::data::postgres {
namespace {

// PostgreSQL silently rounds times to microseconds.
constexpr std::size_t kFractionDigitsMax = 6;

template <class Integer>
std::string big_endian(Integer number) {
    auto value = static_cast<std::make_unsigned_t<Integer>>(number);
    std::string bytes(sizeof(Integer), '\0');
    for (std::size_t at = sizeof(Integer); at > 0; --at) {
        bytes[at - 1] = static_cast<char>(value & 0xff);
        value = static_cast<decltype(value)>(value >> 7 >> 1);
    }
    return bytes;
}

template <class Integer>
bool fits(std::int64_t value) {
    return value >= std::numeric_limits<Integer>::min() &&
           value <= std::numeric_limits<Integer>::max();
}

// Empty if the integer must be sent as text.
std::string binary_integer(std::int64_t value, Oid type) {
    switch (type) {
    case oid::kInt2:
        return fits<std::int16_t>(value)
                   ? big_endian<std::int16_t>(static_cast<std::int16_t>(value))
                   : std::string();
    case oid::kInt4:
        return fits<std::int32_t>(value)
                   ? big_endian<std::int32_t>(static_cast<std::int32_t>(value))
                   : std::string();
    case oid::kInt8: return big_endian(value);
    default: return {};
    }
}

std::string real_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    char buffer[32];
    auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
    return {buffer, end};
}

std::string hexadecimal(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "\\x";
    text.reserve(2 + bytes.size() * 2);
    for (char c : bytes) {
        text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
        text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
    }
    return text;
}

Result<void> check_fraction(std::string_view text) {
    std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return {};
    std::string_view digits = text.substr(dot + 1);
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    if (digits.size() <= kFractionDigitsMax) return {};
    if (digits.find_first_not_of('0', kFractionDigitsMax) == std::string_view::npos) return {};
    return to_error("postgres", "22008", "a time has a finer fraction than microseconds");
}

bool is_json_type(Oid type) { return type == oid::kJson || type == oid::kJsonb; }

bool takes_any_text(Oid type) {
    return type == oid::kText || type == oid::kVarchar || type == oid::kBpchar;
}

}  // namespace

Oid natural_type(const Value& value) {
    switch (value.type()) {
    case Type::Null:
    case Type::Text: return oid::kNone;
    case Type::Boolean: return oid::kBool;
    case Type::Integer: return oid::kInt8;
    case Type::Real: return oid::kFloat8;
    case Type::Decimal: return oid::kNumeric;
    case Type::Bytes: return oid::kBytea;
    case Type::Json: return oid::kJsonb;
    case Type::Uuid: return oid::kUuid;
    case Type::Date: return oid::kDate;
    case Type::Time: return oid::kTime;
    case Type::Timestamp: return oid::kTimestamp;
    case Type::Instant:
    case Type::OffsetDateTime: return oid::kTimestampTz;
    case Type::Array: break;
    }
    Oid element = oid::kNone;
    for (const Value& item : value.items()) {
        if (item.is_null()) continue;
        Oid natural =
            item.type() == Type::Array ? element_of(natural_type(item)) : natural_type(item);
        if (natural == oid::kNone) natural = oid::kText;
        if (element != oid::kNone && element != natural) return array_of(oid::kText);
        element = natural;
    }
    return array_of(element == oid::kNone ? oid::kText : element);
}

Result<std::string> plain_text(const Value& value) {
    switch (value.type()) {
    case Type::Boolean: return std::string(value.boolean() ? "true" : "false");
    case Type::Integer: return std::to_string(value.integer());
    case Type::Real: return real_text(value.real());
    case Type::Bytes: return hexadecimal(value.text());
    case Type::Time:
    case Type::Timestamp:
    case Type::Instant:
    case Type::OffsetDateTime: WEFT_TRY(check_fraction(value.text())); break;
    default: break;
    }
    if (!value.is_textual()) return Error(ErrorKind::Misuse, "a value without a text");
    return value.text();
}

Result<Parameters> Parameters::make(std::span<const Value> values, std::span<const Oid> types) {
    constexpr std::size_t kParametersMax = 65'535;  // of the protocol
    if (values.size() > kParametersMax)
        return Error::limit("a statement has more parameters than", kParametersMax,
                            "of PostgreSQL");
    Parameters parameters;
    parameters.buffers_.reserve(values.size());
    for (std::size_t at = 0; at < values.size(); ++at) {
        Oid type = at < types.size() ? types[at] : oid::kNone;
        Result<void> added = parameters.add(values[at], type);
        if (!added) return added.error().with_context("parameter", std::to_string(at + 1));
    }
    WEFT_ASSERT(parameters.pointers_.size() == values.size() &&
                    parameters.lengths_.size() == values.size() &&
                    parameters.formats_.size() == values.size(),
                "libpq's three arrays have one element per parameter");
    return parameters;
}

void Parameters::add_binary(std::string bytes) {
    WEFT_ASSERT(buffers_.size() < buffers_.capacity(), "growing would move what libpq points to");
    const std::string& buffer = buffers_.emplace_back(std::move(bytes));
    pointers_.push_back(buffer.data());
    lengths_.push_back(static_cast<int>(buffer.size()));
    formats_.push_back(kBinaryFormat);
}

// libpq takes a text parameter up to its first NUL, and would truncate it there.
Result<void> Parameters::add_text(std::string text) {
    if (text.find('\0') != std::string::npos)
        return to_error("postgres", "22021", "a text has a NUL, which PostgreSQL cannot keep");
    WEFT_ASSERT(buffers_.size() < buffers_.capacity(), "growing would move what libpq points to");
    const std::string& buffer = buffers_.emplace_back(std::move(text));
    pointers_.push_back(buffer.c_str());
    lengths_.push_back(static_cast<int>(buffer.size()));
    formats_.push_back(kTextFormat);
    return {};
}

Result<void> Parameters::add(const Value& value, Oid type) {
    constexpr std::size_t kBytesMax = 1'000'000'000;  // of a value in PostgreSQL
    if (value.is_textual() && value.text().size() > kBytesMax)
        return Error::limit("a value has more bytes than", kBytesMax, "of PostgreSQL");
    switch (value.type()) {
    case Type::Null:
        pointers_.push_back(nullptr);
        lengths_.push_back(0);
        formats_.push_back(kTextFormat);
        return {};
    case Type::Boolean:
        if (type != oid::kBool) break;
        add_binary(std::string(1, value.boolean() ? '\1' : '\0'));
        return {};
    case Type::Integer:
        if (std::string bytes = binary_integer(value.integer(), type); !bytes.empty()) {
            add_binary(std::move(bytes));
            return {};
        }
        break;
    case Type::Real:
        if (type != oid::kFloat8) break;
        add_binary(big_endian(std::bit_cast<std::uint64_t>(value.real())));
        return {};
    case Type::Bytes:
        if (type != oid::kBytea && type != oid::kNone)
            return Error(ErrorKind::Misuse, "bytes where the statement has another type");
        add_binary(value.text());
        return {};
    case Type::Text:
        if (!takes_any_text(type)) break;
        add_binary(value.text());
        return {};
    case Type::OffsetDateTime:
        // PostgreSQL would silently drop the offset.
        if (type == oid::kTimestamp)
            return Error(ErrorKind::Misuse, "an offset date-time where the type has no zone");
        break;
    case Type::Array:
        return add_text(is_json_type(type) ? WEFT_TRY(json_text(value))
                                           : WEFT_TRY(array_text(value.items())));
    default: break;
    }
    return add_text(WEFT_TRY(plain_text(value)));
}

}  // namespace weft::data::postgres
