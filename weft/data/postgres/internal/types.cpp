#include "weft/data/postgres/internal/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/internal/forms.h"
#include "weft/data/postgres/internal/arrays.h"
#include "weft/data/postgres/internal/calendar.h"

namespace weft::data::postgres {
namespace {

struct KnownType {
    Oid type;
    Oid array;
    std::string_view name;
};

constexpr std::array kKnown{
    KnownType{oid::kBool, 1000, "bool"},
    KnownType{oid::kBytea, 1001, "bytea"},
    KnownType{oid::kChar, 1002, "char"},
    KnownType{oid::kName, 1003, "name"},
    KnownType{oid::kInt8, 1016, "int8"},
    KnownType{oid::kInt2, 1005, "int2"},
    KnownType{oid::kInt4, 1007, "int4"},
    KnownType{oid::kText, 1009, "text"},
    KnownType{oid::kOid, 1028, "oid"},
    KnownType{oid::kJson, 199, "json"},
    KnownType{oid::kXml, 143, "xml"},
    KnownType{oid::kFloat4, 1021, "float4"},
    KnownType{oid::kFloat8, 1022, "float8"},
    KnownType{oid::kUnknown, 0, "unknown"},
    KnownType{oid::kBpchar, 1014, "bpchar"},
    KnownType{oid::kVarchar, 1015, "varchar"},
    KnownType{oid::kDate, 1182, "date"},
    KnownType{oid::kTime, 1183, "time"},
    KnownType{oid::kTimestamp, 1115, "timestamp"},
    KnownType{oid::kTimestampTz, 1185, "timestamptz"},
    KnownType{oid::kNumeric, 1231, "numeric"},
    KnownType{oid::kVoid, 0, "void"},
    KnownType{oid::kUuid, 2951, "uuid"},
    KnownType{oid::kJsonb, 3807, "jsonb"},
};

// Unknown types whose names are reported with the columns.
constexpr std::array kNamed{
    KnownType{790, 791, "money"},    KnownType{869, 1041, "inet"},
    KnownType{650, 651, "cidr"},     KnownType{1186, 1187, "interval"},
    KnownType{1266, 1270, "timetz"}, KnownType{829, 1040, "macaddr"},
    KnownType{1560, 1561, "bit"},    KnownType{1562, 1563, "varbit"},
    KnownType{600, 1017, "point"},   KnownType{2249, 2287, "record"},
};

const KnownType* find(Oid type) {
    for (const KnownType& known : kKnown) {
        if (known.type == type) return &known;
    }
    return nullptr;
}

Error malformed() {
    return to_error("postgres", "08P01", "a value that came is not of the form of its type");
}

Result<Value> text_value(Type type, std::string_view bytes) {
    if (!forms::is_utf8(bytes))
        return to_error("postgres", "22021", "a text that came is not UTF-8");
    return Value::trusted(type, std::string(bytes));
}

template <class Integer>
Integer big_endian(std::string_view bytes) {
    WEFT_DASSERT(bytes.size() >= sizeof(Integer), "the caller has checked the size");
    std::make_unsigned_t<Integer> value = 0;
    for (std::size_t at = 0; at < sizeof(Integer); ++at) {
        value =
            static_cast<decltype(value)>((value << 7 << 1) | static_cast<unsigned char>(bytes[at]));
    }
    return static_cast<Integer>(value);
}

// PostgreSQL's numeric: groups of four digits, of which `weight` + 1 stand before the point.
Result<Value> numeric_value(std::string_view bytes) {
    constexpr std::size_t kHeader = 8;
    if (bytes.size() < kHeader) return malformed();
    auto count = big_endian<std::uint16_t>(bytes);
    auto weight = big_endian<std::int16_t>(bytes.substr(2));
    auto sign = big_endian<std::uint16_t>(bytes.substr(4));
    auto scale = big_endian<std::uint16_t>(bytes.substr(6));
    if (bytes.size() != kHeader + std::size_t{2} * count) return malformed();
    if (sign == 0xC000) return Value::trusted(Type::Decimal, "NaN");
    if (sign == 0xD000) return Value::trusted(Type::Decimal, "Infinity");
    if (sign == 0xF000) return Value::trusted(Type::Decimal, "-Infinity");
    auto group = [&](int index) {
        if (index < 0 || index >= count) return 0;
        return int{
            big_endian<std::int16_t>(bytes.substr(kHeader + 2 * static_cast<std::size_t>(index)))};
    };
    auto padded = [](int digits) {
        std::string text = std::to_string(digits);
        return std::string(4 - std::min<std::size_t>(text.size(), 4), '0') + text;
    };
    std::string text;
    if (sign == 0x4000) text.push_back('-');
    if (weight < 0) text.push_back('0');
    for (int index = 0; index <= weight; ++index)
        text.append(index == 0 ? std::to_string(group(index)) : padded(group(index)));
    if (scale > 0) {
        text.push_back('.');
        std::string fraction;
        for (int index = weight + 1; fraction.size() < scale; ++index)
            fraction.append(padded(group(index)));
        text.append(fraction, 0, scale);
    }
    return Value::trusted(Type::Decimal, std::move(text));
}

std::string uuid_text(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    WEFT_DASSERT(bytes.size() == 16, "decode_binary() has checked the size");
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (at == 4 || at == 6 || at == 8 || at == 10) text.push_back('-');
        auto byte = static_cast<unsigned char>(bytes[at]);
        text.push_back(kDigits[byte >> 4]);
        text.push_back(kDigits[byte & 15]);
    }
    return text;
}

// The size of a binary value of this type; 0 if it varies.
std::size_t width_of(Oid type) {
    switch (type) {
    case oid::kBool:
    case oid::kChar: return 1;
    case oid::kInt2: return 2;
    case oid::kInt4:
    case oid::kOid:
    case oid::kFloat4:
    case oid::kDate: return 4;
    case oid::kInt8:
    case oid::kFloat8:
    case oid::kTime:
    case oid::kTimestamp:
    case oid::kTimestampTz: return 8;
    case oid::kUuid: return 16;
    default: return 0;
    }
}

Result<Value> decode_binary(Oid type, std::string_view bytes) {
    std::size_t width = width_of(type);
    if (width != 0 && bytes.size() != width) return malformed();
    switch (type) {
    case oid::kBool: return Value(bytes[0] != 0);
    case oid::kInt2: return Value(big_endian<std::int16_t>(bytes));
    case oid::kInt4: return Value(big_endian<std::int32_t>(bytes));
    case oid::kInt8: return Value(big_endian<std::int64_t>(bytes));
    case oid::kOid: return Value(big_endian<std::uint32_t>(bytes));
    case oid::kFloat4: return Value(std::bit_cast<float>(big_endian<std::uint32_t>(bytes)));
    case oid::kFloat8: return Value(std::bit_cast<double>(big_endian<std::uint64_t>(bytes)));
    case oid::kNumeric: return numeric_value(bytes);
    case oid::kBytea: return Value::trusted(Type::Bytes, std::string(bytes));
    case oid::kUuid: return Value::trusted(Type::Uuid, uuid_text(bytes));
    case oid::kJson: return text_value(Type::Json, bytes);
    case oid::kJsonb:
        // The first byte is the version of the format, of which only 1 exists.
        if (bytes.empty() || bytes[0] != 1) return malformed();
        return text_value(Type::Json, bytes.substr(1));
    case oid::kDate: return Value::trusted(Type::Date, date_text(big_endian<std::int32_t>(bytes)));
    case oid::kTime: return Value::trusted(Type::Time, time_text(big_endian<std::int64_t>(bytes)));
    case oid::kTimestamp:
        return Value::trusted(Type::Timestamp, timestamp_text(big_endian<std::int64_t>(bytes), ""));
    case oid::kTimestampTz:
        return Value::trusted(Type::Instant, timestamp_text(big_endian<std::int64_t>(bytes), "Z"));
    default: return text_value(Type::Text, bytes);
    }
}

template <class Number>
Result<Value> number_value(std::string_view text) {
    Number number{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return malformed();
    return Value(number);
}

template <class Real>
Result<Value> real_value(std::string_view text) {
    if (text == "Infinity") return Value(std::numeric_limits<Real>::infinity());
    if (text == "-Infinity") return Value(-std::numeric_limits<Real>::infinity());
    if (text == "NaN") return Value(std::numeric_limits<Real>::quiet_NaN());
    return number_value<Real>(text);
}

std::optional<unsigned> hexadecimal(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    return std::nullopt;
}

// The format of bytea_output = escape: a backslash is doubled or begins three octal digits.
Result<Value> escaped_bytes_value(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    auto octal = [&](std::size_t at) {
        bool is_digit = at < text.size() && text[at] >= '0' && text[at] <= '7';
        return is_digit ? text[at] - '0' : -1;
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\') {
            bytes.push_back(text[at]);
            continue;
        }
        if (text.substr(at + 1).starts_with('\\')) {
            bytes.push_back('\\');
            ++at;
            continue;
        }
        int first = octal(at + 1);
        int second = octal(at + 2);
        int third = octal(at + 3);
        if (first < 0 || first > 3 || second < 0 || third < 0) return malformed();
        bytes.push_back(static_cast<char>(first * 64 + second * 8 + third));
        at += 3;
    }
    return Value::trusted(Type::Bytes, std::move(bytes));
}

// The format of bytea_output = hex, which is the default, or of escape.
Result<Value> bytes_value(std::string_view text) {
    if (!text.starts_with("\\x")) return escaped_bytes_value(text);
    if (text.size() % 2 != 0) return malformed();
    std::string bytes;
    bytes.reserve(text.size() / 2 - 1);
    for (std::size_t at = 2; at < text.size(); at += 2) {
        auto high = hexadecimal(text[at]);
        auto low = hexadecimal(text[at + 1]);
        if (!high || !low) return malformed();
        bytes.push_back(static_cast<char>(*high << 4 | *low));
    }
    return Value::trusted(Type::Bytes, std::move(bytes));
}

bool is_infinite(std::string_view text) { return text == "infinity" || text == "-infinity"; }

// Text in another DateStyle than ISO becomes Text.
Result<Value> calendar_value(Oid type, std::string_view text) {
    bool infinite = is_infinite(text);
    if (type == oid::kDate && (infinite || forms::is_date(text)))
        return Value::trusted(Type::Date, std::string(text));
    if (type == oid::kTimestamp && (infinite || forms::is_date_time(text, forms::Zone::None))) {
        std::string canonical(text);
        if (!infinite) canonical[forms::kDateLength] = 'T';
        return Value::trusted(Type::Timestamp, std::move(canonical));
    }
    if (type == oid::kTimestampTz) {
        if (infinite) return Value::trusted(Type::Instant, std::string(text));
        if (auto microseconds = parse_instant(text))
            return Value::trusted(Type::Instant, timestamp_text(*microseconds, "Z"));
    }
    return text_value(Type::Text, text);
}

Result<Value> decode_text(Oid type, std::string_view text) {
    switch (type) {
    case oid::kBool: return Value(text == "t");
    case oid::kInt2:
    case oid::kInt4:
    case oid::kInt8:
    case oid::kOid: return number_value<std::int64_t>(text);
    case oid::kFloat4: return real_value<float>(text);
    case oid::kFloat8: return real_value<double>(text);
    case oid::kNumeric: return text_value(Type::Decimal, text);
    case oid::kBytea: return bytes_value(text);
    case oid::kUuid: return text_value(Type::Uuid, text);
    case oid::kJson:
    case oid::kJsonb: return text_value(Type::Json, text);
    case oid::kTime: return text_value(Type::Time, text);
    case oid::kDate:
    case oid::kTimestamp:
    case oid::kTimestampTz: return calendar_value(type, text);
    default: return text_value(Type::Text, text);
    }
}

}  // namespace

bool is_known(Oid type) { return find(type) || element_of(type) != oid::kNone; }

Oid element_of(Oid type) {
    if (type == oid::kNone) return oid::kNone;
    for (const KnownType& known : kKnown) {
        if (known.array == type) return known.type;
    }
    return oid::kNone;
}

Oid array_of(Oid element) {
    const KnownType* known = find(element);
    return known ? known->array : oid::kNone;
}

std::string_view type_name(Oid type) {
    if (const KnownType* known = find(type)) return known->name;
    for (const KnownType& known : kNamed) {
        if (known.type == type) return known.name;
    }
    return {};
}

Result<Value> decode(Oid type, int format, std::string_view bytes) {
    // Common types are recognized without searching the table.
    bool is_plain = width_of(type) != 0 || type == oid::kText || type == oid::kVarchar;
    if (is_plain && format == kBinaryFormat) return decode_binary(type, bytes);
    if (Oid element = element_of(type)) return decode_array(element, format, bytes);
    return format == kBinaryFormat ? decode_binary(type, bytes) : decode_text(type, bytes);
}

Result<void> append_decoded(Rows& rows, Oid type, int format, std::string_view bytes) {
    // The most common types are appended where they are decoded, without a Result between.
    if (format == kBinaryFormat && type == oid::kInt4 && bytes.size() == 4) {
        rows.add_value(big_endian<std::int32_t>(bytes));
        return {};
    }
    if (format == kBinaryFormat && type == oid::kInt8 && bytes.size() == 8) {
        rows.add_value(big_endian<std::int64_t>(bytes));
        return {};
    }
    bool is_text = type == oid::kText || type == oid::kVarchar;
    if (is_text && format == kBinaryFormat && forms::is_utf8(bytes)) {
        rows.add_value(bytes);
        return {};
    }
    rows.add_value(WEFT_TRY(decode(type, format, bytes)));
    return {};
}

}  // namespace weft::data::postgres
