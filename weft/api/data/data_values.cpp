#include "weft/api/data/data_values.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
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

// A number that is an integer, and exact, is passed as one.
data::Value from_number(double number) {
    bool is_integer = number >= -kExactMax && number <= kExactMax &&
                      number == static_cast<double>(static_cast<std::int64_t>(number));
    if (is_integer) return static_cast<std::int64_t>(number);
    return number;
}

// Converts the values. Each has the number of its type; for an array, the array of its items'
// types.
Result<data::Value::Items> to_values(js::Call& call, v8::Local<v8::Value> values,
                                     v8::Local<v8::Value> types, int depth) {
    bool has_types = !types->IsUndefined();
    if (!values->IsArray() || (has_types && !types->IsArray()))
        return Error(ErrorKind::Misuse, "parameters are an array, and so are their types");
    if (depth > kArraysDeepMax)
        return Error::limit("arrays are nested deeper than", kArraysDeepMax, "kArraysDeepMax");
    data::Value::Items items;
    std::uint32_t count = values.As<v8::Array>()->Length();
    items.reserve(count);
    for (std::uint32_t at = 0; at < count; ++at) {
        v8::Local<v8::Value> value;
        v8::Local<v8::Value> type = types;
        if (!values.As<v8::Array>()->Get(call.context(), at).ToLocal(&value)) {
            return ErrorKind::Exception;
        }
        if (has_types && !types.As<v8::Array>()->Get(call.context(), at).ToLocal(&type))
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
    if (value->IsNumber()) return from_number(value.As<v8::Number>()->Value());
    if (value->IsArrayBufferView() || value->IsArrayBuffer())
        return data::Value::bytes(js::Call::bytes_of(value));
    if (value->IsArray())
        return data::Value::array(WEFT_TRY(to_values(call, value, type, depth + 1)));
    return WEFT_TRY(to_text(call, value));
}

bool is_ascii(std::string_view text) {
    std::uint64_t all = 0;
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, text.data() + at, 8);
        all |= eight;
    }
    for (; at < text.size(); ++at) all |= static_cast<unsigned char>(text[at]);
    return (all & 0x8080'8080'8080'8080) == 0;
}

v8::Local<v8::Value> new_text(v8::Isolate* engine, std::string_view text) {
    v8::Local<v8::String> made;
    if (is_ascii(text)) {
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
        auto small = static_cast<std::int32_t>(value.integer());
        if (small == value.integer()) return v8::Integer::New(engine, small);
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

using Cells = std::vector<v8::Local<v8::Value>>;

void add_cells(Cells& cells, js::Isolate& isolate, const data::Rows& rows) {
    for (data::Row row : rows) {
        for (const data::Value& value : row.values()) cells.push_back(from_value(isolate, value));
    }
}

// What the marks of packed values say.
enum class Mark : std::uint8_t { Null, False, True, Number, Text, Other };

// Reads the values of packed statements in sequence.
class Unpacker {
public:
    Unpacker(js::Call& call, const PackedStatements& packed)
        : call_(call), packed_(packed), whole_(packed.text.As<v8::String>()) {
        auto length = static_cast<std::size_t>(whole_->Length());
        if (whole_->IsOneByte()) {
            narrow_.resize(length);
            whole_->WriteOneByte(call.v8(), reinterpret_cast<std::uint8_t*>(narrow_.data()), 0,
                                 whole_->Length(), v8::String::NO_NULL_TERMINATION);
            is_narrow_ = is_ascii(narrow_);
        }
        if (is_narrow_) return;
        wide_.resize(length);
        whole_->Write(call.v8(), wide_.data(), 0, whole_->Length(),
                      v8::String::NO_NULL_TERMINATION);
    }

    Result<data::Value> next() {
        if (at_ >= packed_.marks.size() || (at_ + 1) * sizeof(double) > packed_.numbers.size())
            return misfit();
        auto mark = static_cast<Mark>(packed_.marks[at_]);
        double number = 0;
        std::memcpy(&number, packed_.numbers.data() + at_ * sizeof(double), sizeof(double));
        ++at_;
        switch (mark) {
        case Mark::Null: return data::Value();
        case Mark::False: return data::Value(false);
        case Mark::True: return data::Value(true);
        case Mark::Number: return from_number(number);
        case Mark::Text: return next_text(number);
        case Mark::Other: return next_other();
        }
        return misfit();
    }

private:
    static Error misfit() { return {ErrorKind::Misuse, "packed values do not fit together"}; }

    Result<data::Value> next_text(double length) {
        std::size_t size = is_narrow_ ? narrow_.size() : wide_.size();
        if (!(length >= 0 && length <= static_cast<double>(size - text_at_))) return misfit();
        auto count = static_cast<std::size_t>(length);
        std::size_t begin = std::exchange(text_at_, text_at_ + count);
        if (is_narrow_) return data::Value(std::string(narrow_, begin, count));
        v8::Local<v8::String> text;
        if (!v8::String::NewFromTwoByte(call_.v8(), wide_.data() + begin,
                                        v8::NewStringType::kNormal, static_cast<int>(count))
                 .ToLocal(&text))
            return ErrorKind::Exception;
        return data::Value(call_.text_of(text));
    }

    Result<data::Value> next_other() {
        v8::Local<v8::Array> others = packed_.others.As<v8::Array>();
        v8::Local<v8::Value> value;
        v8::Local<v8::Value> type;
        if (!others->Get(call_.context(), others_at_).ToLocal(&value) ||
            !others->Get(call_.context(), others_at_ + 1).ToLocal(&type))
            return ErrorKind::Exception;
        others_at_ += 2;
        return to_value(call_, value, type, 0);
    }

    js::Call& call_;
    const PackedStatements& packed_;
    v8::Local<v8::String> whole_;
    bool is_narrow_ = false;
    std::string narrow_;               // the whole text, if it is ASCII
    std::vector<std::uint16_t> wide_;  // otherwise
    std::size_t at_ = 0;
    std::size_t text_at_ = 0;
    std::uint32_t others_at_ = 0;
};

// "unique violation" -> "WEFT_E_DATA_UNIQUE_VIOLATION"
std::string code_of(data::Cause cause) {
    std::string code("WEFT_E_DATA_");
    for (char c : data::to_string(cause)) {
        bool is_letter = c >= 'a' && c <= 'z';
        code.push_back(is_letter ? static_cast<char>(c - 'a' + 'A') : '_');
    }
    return code;
}

// The option that limits the rows has another name in JavaScript.
std::string message_of(const Error& error) {
    constexpr std::string_view kOption = "(rows_max)";
    std::string message(error.message());
    if (data::cause_of(error) != data::Cause::RowLimit) return message;
    std::size_t at = message.find(kOption);
    return at == std::string::npos ? message : message.replace(at, kOption.size(), "(maxRows)");
}

}  // namespace

Result<data::Statement> to_statement(js::Call& call, v8::Local<v8::Value> text,
                                     v8::Local<v8::Value> values, v8::Local<v8::Value> types) {
    data::Value::Items parameters = WEFT_TRY(to_values(call, values, types, 0));
    std::string statement = WEFT_TRY(to_text(call, text));
    return data::Statement(std::move(statement), std::move(parameters));
}

Result<std::vector<data::Statement>> to_statements(js::Call& call, const PackedStatements& packed) {
    if (!packed.texts->IsArray() || !packed.text->IsString() || !packed.others->IsArray())
        return Error(ErrorKind::Misuse, "packed statements have texts and values");
    std::vector<std::string> texts;
    v8::Local<v8::Array> given = packed.texts.As<v8::Array>();
    for (std::uint32_t at = 0; at < given->Length(); ++at) {
        v8::Local<v8::Value> text;
        if (!given->Get(call.context(), at).ToLocal(&text)) return ErrorKind::Exception;
        texts.push_back(WEFT_TRY(to_text(call, text)));
    }
    Unpacker unpacker(call, packed);
    std::vector<data::Statement> statements;
    std::size_t count = packed.heads.size() / (2 * sizeof(std::uint32_t));
    statements.reserve(count);
    for (std::size_t at = 0; at < count; ++at) {
        std::uint32_t head[2];
        std::memcpy(head, packed.heads.data() + at * sizeof(head), sizeof(head));
        if (head[0] >= texts.size())
            return Error(ErrorKind::Misuse, "a packed statement has a text");
        data::Value::Items values;
        values.reserve(head[1]);
        for (std::uint32_t value = 0; value < head[1]; ++value)
            values.push_back(WEFT_TRY(unpacker.next()));
        statements.emplace_back(texts[head[0]], std::move(values));
    }
    return statements;
}

v8::Local<v8::Value> from_columns(js::Isolate& isolate, const std::vector<data::Column>& columns) {
    std::string text;
    for (const data::Column& column : columns) {
        if (column.name.find('\0') != std::string::npos) {
            Cells names;
            for (const data::Column& each : columns)
                names.push_back(js::to_v8(isolate.v8(), each.name));
            return v8::Array::New(isolate.v8(), names.data(), names.size());
        }
        text.append(column.name).push_back('\0');
    }
    return new_text(isolate.v8(), text);
}

v8::Local<v8::Value> from_cells(js::Isolate& isolate, const data::Rows& rows) {
    Cells cells;
    cells.reserve(rows.size() * rows.columns().size());
    add_cells(cells, isolate, rows);
    return v8::Array::New(isolate.v8(), cells.data(), cells.size());
}

v8::Local<v8::Value> from_outcome(js::Isolate& isolate, const data::Outcome& outcome) {
    v8::Local<v8::Value> cells = v8::Undefined(isolate.v8());
    v8::Local<v8::Value> last = v8::Undefined(isolate.v8());
    if (!outcome.rows.empty()) cells = from_cells(isolate, outcome.rows);
    if (outcome.last_insert_id) last = from_value(isolate, data::Value(*outcome.last_insert_id));
    v8::Local<v8::Value> parts[] = {
        from_columns(isolate, outcome.rows.columns()), cells,
        v8::Number::New(isolate.v8(), static_cast<double>(outcome.affected_rows)), last};
    return v8::Array::New(isolate.v8(), parts, std::size(parts));
}

v8::Local<v8::Value> from_outcomes(js::Isolate& isolate,
                                   const std::vector<data::Outcome>& outcomes) {
    v8::Isolate* engine = isolate.v8();
    Cells columns;
    Cells cells;
    Cells ids;
    std::vector<double> facts;
    facts.reserve(outcomes.size() * 3);
    const data::Rows* before = nullptr;
    for (const data::Outcome& outcome : outcomes) {
        const data::Rows& rows = outcome.rows;
        bool is_same = before && (rows.shared_columns() == before->shared_columns() ||
                                  rows.columns() == before->columns());
        if (!is_same) columns.push_back(from_columns(isolate, rows.columns()));
        before = &rows;
        facts.push_back(static_cast<double>(columns.size() - 1));
        facts.push_back(static_cast<double>(rows.size()));
        facts.push_back(static_cast<double>(outcome.affected_rows));
        add_cells(cells, isolate, rows);
        if (!outcome.last_insert_id && ids.empty()) continue;
        // The ids begin with the first outcome that has one.
        ids.resize(facts.size() / 3 - 1, v8::Undefined(engine));
        ids.push_back(outcome.last_insert_id
                          ? from_value(isolate, data::Value(*outcome.last_insert_id))
                          : v8::Local<v8::Value>(v8::Undefined(engine)));
    }
    Bytes bytes = std::as_bytes(std::span(facts));
    v8::Local<v8::Value> parts[] = {
        v8::Array::New(engine, columns.data(), columns.size()),
        v8::Array::New(engine, cells.data(), cells.size()),
        js::new_array_buffer(engine, std::vector<std::byte>(bytes.begin(), bytes.end())),
        v8::Undefined(engine)};
    if (!ids.empty()) parts[3] = v8::Array::New(engine, ids.data(), ids.size());
    return v8::Array::New(engine, parts, std::size(parts));
}

js::Settled data_failure(const Error& error) {
    return [error](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        v8::Isolate* engine = isolate.v8();
        std::string code = code_of(data::cause_of(error));
        std::string message = message_of(error);
        v8::Local<v8::Object> thrown =
            v8::Exception::Error(js::to_v8(engine, message)).As<v8::Object>();
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
