#include "weft/data/odbc/internal/reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/internal/sql_words.h"
#include "weft/data/odbc/internal/dialect.h"
#include "weft/data/odbc/internal/errors.h"

namespace weft::data::odbc {
namespace {

// Types of Microsoft's drivers and FreeTDS.
constexpr SQLSMALLINT kTime2 = -154;
constexpr SQLSMALLINT kTimestampOffset = -155;
constexpr SQLSMALLINT kXml = -152;

constexpr SQLSMALLINT kNameUnits = 512;
constexpr std::size_t kFirstUnits = 256;  // the initial buffer for a value

// By the database's name for the type, where the type number says less.
std::optional<Type> type_named(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Type>, 15> kTypes{{
        {"bool", Type::Boolean},
        {"boolean", Type::Boolean},
        {"decimal", Type::Decimal},
        {"numeric", Type::Decimal},
        {"json", Type::Json},
        {"jsonb", Type::Json},
        {"uuid", Type::Uuid},
        {"uniqueidentifier", Type::Uuid},
        {"date", Type::Date},
        {"time", Type::Time},
        {"timestamp", Type::Timestamp},
        {"datetime", Type::Timestamp},
        {"datetime2", Type::Timestamp},
        {"timestamptz", Type::Instant},
        {"datetimeoffset", Type::OffsetDateTime},
    }};
    auto found = std::ranges::find(kTypes, name, &decltype(kTypes)::value_type::first);
    if (found == kTypes.end()) return std::nullopt;
    return found->second;
}

// Removes trailing zeros of a fraction at the end of the text.
void trim_fraction(std::string& text) {
    std::size_t dot = text.rfind('.');
    if (dot == std::string::npos || !text.ends_with('0')) return;
    if (text.find_first_not_of("0123456789", dot + 1) != std::string::npos) return;
    std::size_t last = text.find_last_not_of('0');
    text.resize(last == dot ? dot : last + 1);
}

// FreeTDS does not pad years with zeros.
void pad_year(std::string& text) {
    constexpr std::size_t kDigits = 4;
    std::size_t dash = text.find('-');
    if (dash > 0 && dash < kDigits) text.insert(0, kDigits - dash, '0');
}

// Converts "2026-11-18 08:00:00.5 +02:00" to the form of OffsetDateTime, without the blank.
void join_offset(std::string& text) {
    std::size_t blank = text.rfind(' ');
    if (blank == std::string::npos || blank + 1 >= text.size()) return;
    if (text[blank + 1] != '+' && text[blank + 1] != '-') return;
    std::string offset = text.substr(blank + 1);
    text.resize(blank);
    trim_fraction(text);
    text += offset;
}

}  // namespace

Value typed_value(Type type, std::string text) {
    Result<Value> value = Error(ErrorKind::Other);
    switch (type) {
    case Type::Boolean:
        if (text == "1" || text == "t" || text == "true") return true;
        if (text == "0" || text == "f" || text == "false") return false;
        break;
    case Type::Integer: {
        std::int64_t number = 0;
        auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (code == std::errc() && end == text.data() + text.size()) return number;
        value = Value::decimal(text);  // an unsigned integer beyond 63 bits
        break;
    }
    case Type::Decimal:
        // Some drivers omit the zero before the point.
        if (text.starts_with('.')) text.insert(0, "0");
        if (text.starts_with("-.")) text.insert(1, "0");
        value = Value::decimal(text);
        if (text == "NaN" || text == "Infinity" || text == "-Infinity")
            value = Value::trusted(type, text);
        break;
    case Type::Json: value = Value::json(text); break;
    case Type::Uuid: value = Value::uuid(text); break;
    case Type::Date:
        pad_year(text);
        value = Value::date(text);
        break;
    case Type::Time:
        trim_fraction(text);
        value = Value::time(text);
        break;
    case Type::Instant:
        trim_fraction(text);
        value = Value::instant(text + "Z");
        break;
    case Type::Timestamp:
    case Type::OffsetDateTime:
        pad_year(text);
        join_offset(text);
        trim_fraction(text);
        value = Value::timestamp(text);
        if (!value) value = Value::instant(text);
        if (!value) value = Value::offset_date_time(text);
        break;
    default: break;
    }
    return value ? std::move(*value) : Value(std::move(text));
}

auto Reader::form_of(SQLSMALLINT sql_type, const std::string& name, bool is_unsigned,
                     OdbcDialect dialect) -> ColumnForm {
    // In SQLite values need not have the type of their column; a numeric C type would turn text
    // into numbers.
    bool is_loose = dialect == OdbcDialect::Sqlite;
    std::optional<Type> named = type_named(first_word(name, SqlSyntax{}));
    switch (sql_type) {
    case SQL_BIT:
        return is_loose ? ColumnForm{Form::Text, Type::Boolean}
                        : ColumnForm{Form::Bit, Type::Boolean};
    case SQL_TINYINT:
    case SQL_SMALLINT:
    case SQL_INTEGER:
    case SQL_BIGINT:
        if (is_loose || (is_unsigned && sql_type == SQL_BIGINT)) return {Form::Text, Type::Integer};
        return {Form::Integer, Type::Integer};
    case SQL_REAL:
    case SQL_FLOAT:
    case SQL_DOUBLE: return {Form::Real, Type::Real};
    case SQL_DECIMAL:
    case SQL_NUMERIC: return {Form::Text, Type::Decimal};
    case SQL_BINARY:
    case SQL_VARBINARY:
    case SQL_LONGVARBINARY: return {Form::Bytes, Type::Bytes};
    case SQL_GUID: return {Form::Text, Type::Uuid};
    case SQL_TYPE_DATE: return {Form::Text, named.value_or(Type::Date)};
    case SQL_TYPE_TIME:
    case kTime2: return {Form::Text, named.value_or(Type::Time)};
    case SQL_TYPE_TIMESTAMP: return {Form::Text, named.value_or(Type::Timestamp)};
    case kTimestampOffset: return {Form::Text, Type::OffsetDateTime};
    case kXml: return {Form::Text, Type::Text};
    default: return {Form::Text, named.value_or(Type::Text)};
    }
}

Result<Reader> Reader::make(SQLHSTMT statement, OdbcDialect dialect) {
    Reader reader(statement, dialect);
    SQLSMALLINT count = 0;
    if (!SQL_SUCCEEDED(SQLNumResultCols(statement, &count))) return reader.error();
    std::vector<Column> columns;
    for (SQLSMALLINT at = 1; at <= count; ++at)
        columns.push_back(WEFT_TRY(reader.describe(static_cast<SQLUSMALLINT>(at))));
    WEFT_ASSERT(reader.forms_.size() == columns.size(), "one form per column");
    reader.columns_ = std::make_shared<const std::vector<Column>>(std::move(columns));
    return reader;
}

Result<Column> Reader::describe(SQLUSMALLINT position) {
    Wide text(kNameUnits);
    SQLSMALLINT units = 0;
    SQLSMALLINT sql_type = SQL_UNKNOWN_TYPE;
    SQLULEN size = 0;
    SQLSMALLINT scale = 0;
    SQLSMALLINT nullable = 0;
    SQLRETURN code = SQLDescribeColW(statement_, position, text.data(), kNameUnits, &units,
                                     &sql_type, &size, &scale, &nullable);
    if (!SQL_SUCCEEDED(code)) return error();
    auto shown_of = [&](int count) {
        auto length = static_cast<std::size_t>(std::clamp<int>(count, 0, kNameUnits - 1));
        return shown(std::span<const SQLWCHAR>(text).first(length));
    };
    Column column{.name = shown_of(units), .database_type = {}};
    SQLSMALLINT bytes = 0;
    code =
        SQLColAttributeW(statement_, position, SQL_DESC_TYPE_NAME, text.data(),
                         static_cast<SQLSMALLINT>(kNameUnits * sizeof(SQLWCHAR)), &bytes, nullptr);
    if (SQL_SUCCEEDED(code))
        column.database_type = shown_of(bytes / static_cast<int>(sizeof(SQLWCHAR)));
    SQLLEN is_unsigned = SQL_FALSE;
    SQLColAttributeW(statement_, position, SQL_DESC_UNSIGNED, nullptr, 0, nullptr, &is_unsigned);
    forms_.push_back(form_of(sql_type, column.database_type, is_unsigned == SQL_TRUE, dialect_));
    return column;
}

Error Reader::error() const {
    return to_error(diagnose(SQL_HANDLE_STMT, statement_), dialect_, Phase::WithValues);
}

Error Reader::not_text(SQLUSMALLINT position) const {
    WEFT_ASSERT(position >= 1 && position <= columns_->size(), "positions count from 1");
    return data::to_error({.provider = kName,
                           .sqlstate = "22021",
                           .driver_code = "invalid UTF-16",
                           .column = (*columns_)[position - 1U].name});
}

template <class Number>
Result<std::optional<Number>> Reader::number(SQLUSMALLINT position, SQLSMALLINT c_type) {
    Number value = 0;
    SQLLEN length = 0;
    SQLRETURN code = SQLGetData(statement_, position, c_type, &value, sizeof(value), &length);
    if (!SQL_SUCCEEDED(code)) return error();
    if (length == SQL_NULL_DATA) return std::optional<Number>();
    return std::optional<Number>(value);
}

// Each piece but the last fills the room it is given. Drivers end each piece of a text with a zero,
// which is not part of it.
template <class Buffer>
Result<bool> Reader::pieces(SQLUSMALLINT position, SQLSMALLINT c_type, Buffer& into) {
    constexpr std::size_t kUnit = sizeof(typename Buffer::value_type);
    std::size_t end = c_type == SQL_C_WCHAR ? 1 : 0;
    std::size_t filled = 0;
    into.resize(kFirstUnits);
    for (;;) {
        WEFT_ASSERT(filled + end < into.size(), "there is room for a piece and its zero");
        std::size_t room = into.size() - filled;
        SQLLEN left = 0;  // remaining bytes before this piece
        SQLRETURN code = SQLGetData(statement_, position, c_type, into.data() + filled,
                                    static_cast<SQLLEN>(room * kUnit), &left);
        if (code == SQL_NO_DATA) break;
        if (!SQL_SUCCEEDED(code)) return error();
        if (left == SQL_NULL_DATA) return false;
        bool is_known = left >= 0;
        std::size_t units = is_known ? static_cast<std::size_t>(left) / kUnit : room;
        if (is_known && units + end <= room) {
            filled += units;
            break;
        }
        filled += room - end;
        std::size_t wanted = is_known ? filled + units - (room - end) + end : into.size() * 2;
        if (wanted * kUnit > kValueBytesMax)
            return data::to_error(kName, "54000", "a value is larger than kValueBytesMax");
        into.resize(std::max(wanted, filled + end + 1));
    }
    WEFT_ASSERT(filled <= into.size(), "the pieces are within the buffer");
    into.resize(filled);
    return true;
}

Result<Value> Reader::text_cell(SQLUSMALLINT position, Type type) {
    if (!WEFT_TRY(pieces(position, SQL_C_WCHAR, wide_))) return Value();
    std::optional<std::string> text = from_wide(wide_);
    if (!text) return not_text(position);
    return typed_value(type, std::move(*text));
}

Result<Value> Reader::cell(SQLUSMALLINT position, ColumnForm form) {
    WEFT_DASSERT(position >= 1 && position <= forms_.size(), "positions count from 1");
    switch (form.form) {
    case Form::Integer: {
        auto value = WEFT_TRY(number<std::int64_t>(position, SQL_C_SBIGINT));
        return value ? Value(*value) : Value();
    }
    case Form::Real: {
        auto value = WEFT_TRY(number<double>(position, SQL_C_DOUBLE));
        return value ? Value(*value) : Value();
    }
    case Form::Bit: {
        auto value = WEFT_TRY(number<unsigned char>(position, SQL_C_BIT));
        return value ? Value(*value != 0) : Value();
    }
    case Form::Bytes:
        if (!WEFT_TRY(pieces(position, SQL_C_BINARY, bytes_))) return Value();
        return Value::bytes(std::as_bytes(std::span(bytes_)));
    case Form::Text: break;
    }
    return text_cell(position, form.type);
}

Result<void> Reader::read(Rows& rows) {
    WEFT_DASSERT(rows.columns().size() == forms_.size(), "the rows have these columns");
    SQLUSMALLINT position = 0;
    for (const ColumnForm& form : forms_) rows.add_value(WEFT_TRY(cell(++position, form)));
    rows.end_row();
    return {};
}

}  // namespace weft::data::odbc
