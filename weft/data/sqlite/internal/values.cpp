#include "weft/data/sqlite/internal/values.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/internal/forms.h"
#include "weft/data/sqlite/internal/errors.h"

namespace weft::data::sqlite_internal {
namespace {

// The meaning of stored values, by the first word of the declared type. The other words decide how
// SQLite stores it: DECIMAL alone stores numbers, DECIMAL TEXT every digit.
Type declared(const char* text) {
    std::string word;
    for (; text && std::isalpha(static_cast<unsigned char>(*text)); ++text)
        word.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(*text))));
    constexpr std::pair<std::string_view, Type> kTypes[] = {
        {"BOOLEAN", Type::Boolean},     {"BOOL", Type::Boolean},
        {"DECIMAL", Type::Decimal},     {"NUMERIC", Type::Decimal},
        {"JSON", Type::Json},           {"UUID", Type::Uuid},
        {"DATE", Type::Date},           {"TIME", Type::Time},
        {"TIMESTAMP", Type::Timestamp}, {"DATETIME", Type::Timestamp},
        {"INSTANT", Type::Instant},     {"TIMESTAMPTZ", Type::OffsetDateTime},
    };
    for (const auto& [name, type] : kTypes)
        if (name == word) return type;
    return Type::Null;
}

// Text that does not have the form of its declared type stays Text.
Value typed_text(Type type, std::string_view text) {
    Result<Value> value = Error(ErrorKind::Other);
    switch (type) {
    case Type::Decimal: value = Value::decimal(text); break;
    case Type::Json: value = Value::json(text); break;
    case Type::Uuid: value = Value::uuid(text); break;
    case Type::Date: value = Value::date(text); break;
    case Type::Time: value = Value::time(text); break;
    case Type::Timestamp:
    case Type::Instant:
    case Type::OffsetDateTime:
        value = Value::timestamp(text);
        if (!value) value = Value::instant(text);
        if (!value) value = Value::offset_date_time(text);
        break;
    default: break;
    }
    return value ? std::move(*value) : Value(text);
}

int bind_text(sqlite3_stmt* statement, int position, const std::string& text, Binding binding) {
    auto destroy = binding == Binding::Copied ? SQLITE_TRANSIENT : SQLITE_STATIC;
    return sqlite3_bind_text64(statement, position, text.data(), text.size(), destroy, SQLITE_UTF8);
}

}  // namespace

Result<void> bind(sqlite3* database, sqlite3_stmt* statement, int position, const Value& value,
                  Binding binding) {
    WEFT_DASSERT(position >= 1 && position <= sqlite3_bind_parameter_count(statement),
                 "the statement has this parameter");
    int code = SQLITE_OK;
    switch (value.type()) {
    case Type::Null: code = sqlite3_bind_null(statement, position); break;
    case Type::Boolean: code = sqlite3_bind_int(statement, position, value.boolean()); break;
    case Type::Integer: code = sqlite3_bind_int64(statement, position, value.integer()); break;
    case Type::Real:
        // SQLite would store NaN as null.
        if (std::isnan(value.real()))
            return Error(ErrorKind::Misuse, "SQLite has no value for not-a-number");
        code = sqlite3_bind_double(statement, position, value.real());
        break;
    case Type::Bytes:
        code = sqlite3_bind_blob64(statement, position, value.text().data(), value.text().size(),
                                   binding == Binding::Copied ? SQLITE_TRANSIENT : SQLITE_STATIC);
        // An empty blob may have a null address, which SQLite would bind as null.
        if (value.text().empty()) code = sqlite3_bind_zeroblob(statement, position, 0);
        break;
    case Type::Array: return Error(ErrorKind::Misuse, "SQLite has no arrays; use JSON");
    case Type::Text:
        if (!forms::is_utf8(value.text()))
            return Error(ErrorKind::Misuse, "a text parameter is not UTF-8");
        code = bind_text(statement, position, value.text(), binding);
        break;
    default: code = bind_text(statement, position, value.text(), binding); break;
    }
    if (code != SQLITE_OK) return error_of(database, code, Phase::Prepare);
    return {};
}

Reader::Reader(sqlite3_stmt* statement) : statement_(statement) {
    int count = sqlite3_column_count(statement);
    if (count == 0) return;
    std::vector<Column> columns;
    columns.reserve(static_cast<std::size_t>(count));
    types_.reserve(static_cast<std::size_t>(count));
    for (int position = 0; position < count; ++position) {
        const char* name = sqlite3_column_name(statement, position);
        const char* type = sqlite3_column_decltype(statement, position);
        columns.push_back({name ? name : "", type ? type : ""});
        types_.push_back(declared(type));
    }
    columns_ = std::make_shared<const std::vector<Column>>(std::move(columns));
}

Result<void> Reader::read_cell(Rows& rows, int position) const {
    WEFT_DASSERT(position >= 0 && static_cast<std::size_t>(position) < types_.size(),
                 "the statement has this column");
    Type type = types_[static_cast<std::size_t>(position)];
    switch (sqlite3_column_type(statement_, position)) {
    case SQLITE_NULL: rows.add_value(Value()); return {};
    case SQLITE_INTEGER: {
        std::int64_t number = sqlite3_column_int64(statement_, position);
        if (type == Type::Boolean && (number == 0 || number == 1))
            rows.add_value(Value(number == 1));
        else if (type == Type::Decimal || type == Type::Json)
            rows.add_value(Value::trusted(type, std::to_string(number)));
        else
            rows.add_value(Value(number));
        return {};
    }
    // Also for DECIMAL: SQLite's text of the number would have fewer digits.
    case SQLITE_FLOAT:
        rows.add_value(Value(sqlite3_column_double(statement_, position)));
        return {};
    case SQLITE_BLOB: {
        const void* bytes = sqlite3_column_blob(statement_, position);
        auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, position));
        rows.add_value(Value::bytes({static_cast<const std::byte*>(bytes), size}));
        return {};
    }
    default: break;
    }
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, position));
    std::string_view text(bytes,
                          static_cast<std::size_t>(sqlite3_column_bytes(statement_, position)));
    if (!forms::is_utf8(text)) {
        return to_error({.provider = kName,
                         .sqlstate = "22021",
                         .driver_code = "invalid UTF-8",
                         .column = (*columns_)[static_cast<std::size_t>(position)].name});
    }
    rows.add_value(type == Type::Null ? Value(text) : typed_text(type, text));
    return {};
}

Result<void> Reader::read(Rows& rows) const {
    auto count = static_cast<int>(types_.size());
    WEFT_DASSERT(rows.columns().size() == types_.size(), "the rows have these columns");
    for (int position = 0; position < count; ++position) WEFT_TRY(read_cell(rows, position));
    rows.end_row();
    return {};
}

}  // namespace weft::data::sqlite_internal
