#include "weft/data/postgres/internal/arrays.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/parameters.h"

namespace weft::data::postgres {
namespace {

Error malformed() { return to_error("postgres", "08P01", "an array that came is malformed"); }

class BinaryReader {
public:
    explicit BinaryReader(std::string_view bytes) : rest_(bytes) {}

    Result<std::int32_t> number() {
        if (rest_.size() < 4) return malformed();
        std::uint32_t value = 0;
        for (char c : rest_.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
        rest_.remove_prefix(4);
        return static_cast<std::int32_t>(value);
    }
    Result<std::string_view> bytes(std::int32_t count) {
        if (count < 0 || rest_.size() < static_cast<std::size_t>(count)) return malformed();
        std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::size_t rest() const { return rest_.size(); }

private:
    std::string_view rest_;
};

Result<Value> read_dimension(BinaryReader& reader, Oid element,
                             const std::vector<std::int32_t>& sizes, std::size_t dimension) {
    WEFT_DASSERT(dimension < sizes.size(), "the array has this dimension");
    Value::Items items;
    for (std::int32_t at = 0; at < sizes[dimension]; ++at) {
        if (dimension + 1 < sizes.size()) {
            Value inner = WEFT_TRY(read_dimension(reader, element, sizes, dimension + 1));
            items.push_back(std::move(inner));
            continue;
        }
        std::int32_t length = WEFT_TRY(reader.number());
        if (length == -1) {
            items.emplace_back();
            continue;
        }
        std::string_view bytes = WEFT_TRY(reader.bytes(length));
        Value value = WEFT_TRY(decode(element, kBinaryFormat, bytes));
        items.push_back(std::move(value));
    }
    return Value::array(std::move(items));
}

Result<Value> decode_binary(std::string_view bytes) {
    BinaryReader reader(bytes);
    std::int32_t dimensions = WEFT_TRY(reader.number());
    WEFT_TRY(reader.number());  // whether the array contains nulls
    std::int32_t element = WEFT_TRY(reader.number());
    if (dimensions < 0 || dimensions > kArrayDimensionsMax) return malformed();
    // The elements of an array are no arrays themselves; so the depth of calls is bounded.
    if (element_of(static_cast<Oid>(element)) != oid::kNone) return malformed();
    std::vector<std::int32_t> sizes;
    std::size_t elements = 1;
    for (std::int32_t at = 0; at < dimensions; ++at) {
        std::int32_t size = WEFT_TRY(reader.number());
        WEFT_TRY(reader.number());  // the lower bound
        if (size < 0) return malformed();
        sizes.push_back(size);
        elements *= static_cast<std::size_t>(size);
        // Each element takes at least the four bytes of its length. Bounds the loops and the
        // allocations, and keeps the product small.
        if (elements > reader.rest() / 4) return malformed();
    }
    if (dimensions == 0 || elements == 0) return Value::array({});
    WEFT_ASSERT(sizes.size() == static_cast<std::size_t>(dimensions), "one size per dimension");
    return read_dimension(reader, static_cast<Oid>(element), sizes, 0);
}

class TextReader {
public:
    TextReader(Oid element, std::string_view text) : element_(element), rest_(text) {}

    Result<Value> read() {
        // "[0:1]={1,2}": skip the bounds.
        if (rest_.starts_with('[')) {
            std::size_t begin = rest_.find('{');
            if (begin == std::string_view::npos) return malformed();
            rest_.remove_prefix(begin);
        }
        Value value = WEFT_TRY(array(1));
        if (!rest_.empty()) return malformed();
        return value;
    }

private:
    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    Result<Value> array(int depth) {
        if (depth > kArrayDimensionsMax || !take('{')) return malformed();
        Value::Items items;
        if (take('}')) return Value::array({});
        do {
            Value item = rest_.starts_with('{') ? WEFT_TRY(array(depth + 1)) : WEFT_TRY(scalar());
            items.push_back(std::move(item));
        } while (take(','));
        if (!take('}')) return malformed();
        return Value::array(std::move(items));
    }

    Result<Value> scalar() {
        if (rest_.starts_with('"')) {
            std::string text = WEFT_TRY(quoted());
            return decode(element_, kTextFormat, text);
        }
        std::size_t end = rest_.find_first_of(",}");
        if (end == std::string_view::npos) return malformed();
        std::string_view text = rest_.substr(0, end);
        rest_.remove_prefix(end);
        if (text == "NULL") return Value();
        return decode(element_, kTextFormat, text);
    }

    Result<std::string> quoted() {
        std::string text;
        for (std::size_t at = 1; at < rest_.size(); ++at) {
            if (rest_[at] == '"') {
                rest_.remove_prefix(at + 1);
                return text;
            }
            if (rest_[at] == '\\' && ++at == rest_.size()) break;
            text.push_back(rest_[at]);
        }
        return malformed();
    }

    Oid element_;
    std::string_view rest_;
};

void append_quoted(std::string& text, std::string_view item) {
    text.push_back('"');
    for (char c : item) {
        if (c == '"' || c == '\\') text.push_back('\\');
        text.push_back(c);
    }
    text.push_back('"');
}

void append_json_string(std::string& json, std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    json.push_back('"');
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            json.push_back('\\');
            json.push_back(c);
        } else if (byte < 32) {
            json.append("\\u00").push_back(kDigits[byte >> 4]);
            json.push_back(kDigits[byte & 15]);
        } else {
            json.push_back(c);
        }
    }
    json.push_back('"');
}

}  // namespace

Result<Value> decode_array(Oid element, int format, std::string_view bytes) {
    if (format == kBinaryFormat) return decode_binary(bytes);
    return TextReader(element, bytes).read();
}

Result<std::string> array_text(const Value::Items& items) {
    std::string text = "{";
    for (const Value& item : items) {
        if (text.size() > 1) text.push_back(',');
        if (item.is_null()) {
            text.append("NULL");
        } else if (item.type() == Type::Array) {
            text.append(WEFT_TRY(array_text(item.items())));
        } else {
            append_quoted(text, WEFT_TRY(plain_text(item)));
        }
    }
    text.push_back('}');
    return text;
}

Result<std::string> json_text(const Value& value) {
    switch (value.type()) {
    case Type::Null: return std::string("null");
    case Type::Boolean:
    case Type::Integer:
    case Type::Real:
    case Type::Decimal:
    case Type::Json: return plain_text(value);
    case Type::Bytes: return Error(ErrorKind::Misuse, "bytes have no form in JSON");
    case Type::Array: break;
    default: {
        std::string json;
        append_json_string(json, value.text());
        return json;
    }
    }
    std::string json = "[";
    for (const Value& item : value.items()) {
        if (json.size() > 1) json.push_back(',');
        json.append(WEFT_TRY(json_text(item)));
    }
    json.push_back(']');
    return json;
}

}  // namespace weft::data::postgres
