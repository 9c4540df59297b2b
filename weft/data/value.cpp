#include "weft/data/value.h"

#include <algorithm>
#include <cmath>

#include "weft/base/assert.h"
#include "weft/data/internal/forms.h"

namespace weft::data {

std::string_view to_string(Type type) noexcept {
    switch (type) {
    case Type::Null: return "null";
    case Type::Boolean: return "boolean";
    case Type::Integer: return "integer";
    case Type::Real: return "real";
    case Type::Decimal: return "decimal";
    case Type::Text: return "text";
    case Type::Bytes: return "bytes";
    case Type::Json: return "json";
    case Type::Uuid: return "uuid";
    case Type::Date: return "date";
    case Type::Time: return "time";
    case Type::Timestamp: return "timestamp";
    case Type::Instant: return "instant";
    case Type::OffsetDateTime: return "offset date-time";
    case Type::Array: return "array";
    }
    return "?";
}

Value Value::bytes(std::span<const std::byte> bytes) {
    return {Type::Bytes, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

Value Value::array(Items items) {
    Value value;
    value.type_ = Type::Array;
    value.content_ = std::make_shared<const Items>(std::move(items));
    return value;
}

Result<Value> Value::decimal(std::string_view text) {
    if (!forms::is_decimal(text)) return Error(ErrorKind::Misuse, "not a decimal number");
    return Value(Type::Decimal, std::string(text));
}

Result<Value> Value::json(std::string_view text) {
    if (!forms::is_json(text)) return Error(ErrorKind::Misuse, "not a JSON text");
    return Value(Type::Json, std::string(text));
}

Result<Value> Value::uuid(std::string_view text) {
    if (!forms::is_uuid(text)) return Error(ErrorKind::Misuse, "not a canonical UUID");
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    }
    return Value(Type::Uuid, std::move(lower));
}

Result<Value> Value::date(std::string_view text) {
    if (!forms::is_date(text)) return Error(ErrorKind::Misuse, "not a date, YYYY-MM-DD");
    return Value(Type::Date, std::string(text));
}

Result<Value> Value::time(std::string_view text) {
    if (!forms::is_time(text)) return Error(ErrorKind::Misuse, "not a time, HH:MM:SS[.fraction]");
    return Value(Type::Time, std::string(text));
}

Result<Value> Value::timestamp(std::string_view text) {
    if (!forms::is_date_time(text, forms::Zone::None))
        return Error(ErrorKind::Misuse, "not a timestamp, YYYY-MM-DDTHH:MM:SS[.fraction]");
    std::string canonical(text);
    canonical[forms::kDateLength] = 'T';
    return Value(Type::Timestamp, std::move(canonical));
}

Result<Value> Value::instant(std::string_view text) {
    if (!forms::is_date_time(text, forms::Zone::Utc))
        return Error(ErrorKind::Misuse, "not an instant, YYYY-MM-DDTHH:MM:SS[.fraction]Z");
    std::string canonical(text);
    canonical[forms::kDateLength] = 'T';
    return Value(Type::Instant, std::move(canonical));
}

Result<Value> Value::offset_date_time(std::string_view text) {
    if (!forms::is_date_time(text, forms::Zone::Offset))
        return Error(ErrorKind::Misuse,
                     "not an offset date-time, YYYY-MM-DDTHH:MM:SS[.fraction]+HH:MM");
    std::string canonical(text);
    canonical[forms::kDateLength] = 'T';
    return Value(Type::OffsetDateTime, std::move(canonical));
}

Result<std::int64_t> Value::to_integer(std::int64_t least, std::int64_t most) const {
    WEFT_DASSERT(least <= most, "the range is not empty");
    if (type_ != Type::Integer) return unfit("integer");
    std::int64_t value = integer();
    if (value < least || value > most) return unfit("integer of this size");
    return value;
}

Result<double> Value::to_real() const {
    if (type_ == Type::Real) return real();
    if (type_ != Type::Integer) return unfit("real");
    constexpr std::int64_t kExactMax = std::int64_t{1} << 53;
    if (integer() > kExactMax || integer() < -kExactMax) return unfit("real, exactly");
    return static_cast<double>(integer());
}

Result<std::string> Value::to_text() const {
    if (!is_textual() || type_ == Type::Bytes) return unfit("text");
    return text();
}

Error Value::unfit(std::string_view wanted) const {
    std::string message("a value of type ");
    message.append(to_string(type_)).append(" is no ").append(wanted);
    return {ErrorKind::Misuse, message};
}

bool operator==(const Value& a, const Value& b) {
    if (a.type_ != b.type_) return false;
    if (a.type_ == Type::Array) return a.items() == b.items();
    return a.content_ == b.content_;
}

}  // namespace weft::data
