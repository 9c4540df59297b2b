#include "weft/api/data/data_values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/base/bytes.h"
#include "weft/data/failure.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"

namespace weft::api {
namespace {

using data::Type;

// The limits of sql.js.
constexpr int kArraysDeepMax = 6;
constexpr double kExactMax = 9007199254740991;  // Number.MAX_SAFE_INTEGER

Result<data::Value> to_typed(Type type, const std::string& text) {
    switch (type) {
    case Type::Decimal: return data::Value::decimal(text);
    case Type::Json: return data::Value::json(text);
    case Type::Uuid: return data::Value::uuid(text);
    case Type::Date: return data::Value::date(text);
    case Type::Time: return data::Value::time(text);
    case Type::Timestamp: return data::Value::timestamp(text);
    case Type::Instant: return data::Value::instant(text);
    case Type::OffsetDateTime: return data::Value::offset_date_time(text);
    default: return data::Value(text);
    }
}

// Values that a script can influence are checked again here: an error ends one statement, whereas
// an assertion would end the process.
Result<std::string> to_text(js::Call& call, v8::Local<v8::Value> value) {
    if (!value->IsString()) return Error(ErrorKind::Misuse, "a parameter has no form in databases");
    return call.text_of(value);
}

Result<data::Value> to_value(js::Call& call, v8::Local<v8::Value> value, v8::Local<v8::Value> type,
                             int depth);

// Converts the values. Each has the number of its type; for an array, the array of its items'
// types.
Result<data::Value::Items> to_values(js::Call& call, v8::Local<v8::Value> values,
                                     v8::Local<v8::Value> types, int depth) {
    if (!values->IsArray() || !types->IsArray())
        return Error(ErrorKind::Misuse, "parameters are an array, and so are their types");
    if (depth > kArraysDeepMax)
        return Error::limit("arrays are nested deeper than", kArraysDeepMax, "kArraysDeepMax");
    data::Value::Items items;
    std::uint32_t count = values.As<v8::Array>()->Length();
    items.reserve(count);
    for (std::uint32_t at = 0; at < count; ++at) {
        v8::Local<v8::Value> value;
        v8::Local<v8::Value> type;
        if (!values.As<v8::Array>()->Get(call.context(), at).ToLocal(&value) ||
            !types.As<v8::Array>()->Get(call.context(), at).ToLocal(&type))
            return ErrorKind::Exception;
        items.push_back(WEFT_TRY(to_value(call, value, type, depth)));
    }
    return items;
}

Result<data::Value> to_value(js::Call& call, v8::Local<v8::Value> value, v8::Local<v8::Value> type,
                             int depth) {
    if (type->IsNumber()) {
        auto number = static_cast<Type>(type.As<v8::Number>()->Value());
        std::string text = WEFT_TRY(to_text(call, value));
        return to_typed(number, text);
    }
    if (value->IsNullOrUndefined()) return data::Value();
    if (value->IsBoolean()) return data::Value(value->IsTrue());
    if (value->IsBigInt()) {
        bool lossless = false;
        std::int64_t integer = value.As<v8::BigInt>()->Int64Value(&lossless);
        if (!lossless) return Error(ErrorKind::Misuse, "a BigInt does not fit 64 bits");
        return data::Value(integer);
    }
    if (value->IsNumber()) {
        double number = value.As<v8::Number>()->Value();
        bool is_integer = number >= -kExactMax && number <= kExactMax &&
                          number == static_cast<double>(static_cast<std::int64_t>(number));
        if (is_integer) return data::Value(static_cast<std::int64_t>(number));
        return data::Value(number);
    }
    if (value->IsArrayBufferView() || value->IsArrayBuffer())
        return data::Value::bytes(js::Call::bytes_of(value));
    if (value->IsArray())
        return data::Value::array(WEFT_TRY(to_values(call, value, type, depth + 1)));
    return WEFT_TRY(to_text(call, value));
}

v8::Local<v8::Value> new_text(v8::Isolate* engine, std::string_view text) {
    v8::Local<v8::String> made;
    auto is_ascii = [](char c) { return static_cast<signed char>(c) >= 0; };
    if (std::ranges::all_of(text, is_ascii)) {
        // ASCII is passed without decoding, which would cost more than everything else here.
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
        if (v8::String::NewFromOneByte(engine, bytes, v8::NewStringType::kNormal,
                                       static_cast<int>(text.size()))
                .ToLocal(&made))
            return made;
        return v8::Undefined(engine);
    }
    if (!v8::String::NewFromUtf8(engine, text.data(), v8::NewStringType::kNormal,
                                 static_cast<int>(text.size()))
             .ToLocal(&made))
        return v8::Undefined(engine);
    return made;
}

v8::Local<v8::Value> from_value(js::Isolate& isolate, const data::Value& value) {
    v8::Isolate* engine = isolate.v8();
    switch (value.type()) {
    case Type::Null: return v8::Null(engine);
    case Type::Boolean: return v8::Boolean::New(engine, value.boolean());
    case Type::Integer: {
        // A JavaScript number is exact only in this range; an integer beyond it becomes a BigInt
        // instead of being rounded.
        auto number = static_cast<double>(value.integer());
        if (number >= -kExactMax && number <= kExactMax) return v8::Number::New(engine, number);
        return v8::BigInt::New(engine, value.integer());
    }
    case Type::Real: return v8::Number::New(engine, value.real());
    case Type::Bytes: {
        std::span<const std::byte> bytes = value.byte_span();
        v8::Local<v8::ArrayBuffer> buffer =
            js::new_array_buffer(engine, std::vector<std::byte>(bytes.begin(), bytes.end()));
        return v8::Uint8Array::New(buffer, 0, bytes.size());
    }
    case Type::Json: {
        v8::Local<v8::Value> parsed;
        v8::Local<v8::Value> text = new_text(engine, value.text());
        if (text->IsString() &&
            v8::JSON::Parse(isolate.context(), text.As<v8::String>()).ToLocal(&parsed))
            return parsed;
        return text;
    }
    case Type::Array: {
        std::vector<v8::Local<v8::Value>> items;
        for (const data::Value& item : value.items()) items.push_back(from_value(isolate, item));
        return v8::Array::New(engine, items.data(), items.size());
    }
    default: return new_text(engine, value.text());
    }
}

v8::Local<v8::Value> from_cells(js::Isolate& isolate, const data::Rows& rows) {
    std::vector<v8::Local<v8::Value>> cells;
    cells.reserve(rows.size() * rows.columns().size());
    for (data::Row row : rows) {
        for (const data::Value& value : row.values()) cells.push_back(from_value(isolate, value));
    }
    return v8::Array::New(isolate.v8(), cells.data(), cells.size());
}

// "unique violation" -> "WEFT_E_DATA_UNIQUE_VIOLATION"
std::string code_of(data::Cause cause) {
    std::string code("WEFT_E_DATA_");
    for (char c : data::to_string(cause)) {
        bool is_letter = c >= 'a' && c <= 'z';
        code.push_back(is_letter ? static_cast<char>(c - 'a' + 'A') : '_');
    }
    return code;
}

}  // namespace

Result<data::Statement> to_statement(js::Call& call, v8::Local<v8::Value> text,
                                     v8::Local<v8::Value> values, v8::Local<v8::Value> types) {
    data::Value::Items parameters = WEFT_TRY(to_values(call, values, types, 0));
    std::string statement = WEFT_TRY(to_text(call, text));
    return data::Statement(std::move(statement), std::move(parameters));
}

v8::Local<v8::Value> from_names(js::Isolate& isolate, const std::vector<data::Column>& columns) {
    std::vector<v8::Local<v8::Value>> names;
    names.reserve(columns.size());
    for (const data::Column& column : columns)
        names.push_back(js::to_v8(isolate.v8(), column.name));
    return v8::Array::New(isolate.v8(), names.data(), names.size());
}

v8::Local<v8::Value> from_rows(js::Isolate& isolate, const data::Rows& rows) {
    v8::Local<v8::Value> parts[] = {from_names(isolate, rows.columns()), from_cells(isolate, rows)};
    return v8::Array::New(isolate.v8(), parts, std::size(parts));
}

v8::Local<v8::Value> from_outcome(js::Isolate& isolate, const data::Outcome& outcome) {
    v8::Local<v8::Value> last = v8::Undefined(isolate.v8());
    if (outcome.last_insert_id) last = from_value(isolate, data::Value(*outcome.last_insert_id));
    v8::Local<v8::Value> parts[] = {
        from_names(isolate, outcome.rows.columns()), from_cells(isolate, outcome.rows),
        v8::Number::New(isolate.v8(), static_cast<double>(outcome.affected_rows)), last};
    return v8::Array::New(isolate.v8(), parts, std::size(parts));
}

js::Settled data_failure(const Error& error) {
    return [error](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        v8::Isolate* engine = isolate.v8();
        std::string code = code_of(data::cause_of(error));
        v8::Local<v8::Object> thrown =
            v8::Exception::Error(js::to_v8(engine, error.message())).As<v8::Object>();
        auto set = [&](std::string_view name, v8::Local<v8::Value> value) {
            js::seen_by_turn(thrown->Set(isolate.context(), js::to_v8(engine, name), value));
        };
        set("code", js::to_v8(engine, code));
        set("sqlState", js::to_v8(engine, data::sqlstate_of(error)));
        set("transient", v8::Boolean::New(engine, data::is_transient(error)));
        engine->ThrowException(thrown);
        return {};
    };
}

}  // namespace weft::api
