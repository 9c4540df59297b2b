// Rows: a result that was received completely. A value type: it owns its content and may outlive
// the database.
//
//     for (Row row : rows) total += WEFT_TRY(row.get<double>("price"));
//
// If several columns have the same name, the name finds the last of them; positions find all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/data/value.h"

namespace weft::data {

struct Column {
    std::string name;
    std::string database_type;  // as the database calls it; may be empty

    friend bool operator==(const Column&, const Column&) = default;
};
// Owners: a result, its cursor and its rows. Never changed after it was made.
using Columns = std::shared_ptr<const std::vector<Column>>;

// One row. Borrows from its Rows, which must outlive it unchanged.
class Row {
public:
    Row(const Columns& columns, std::span<const Value> values)
        : columns_(&columns), values_(values) {
        WEFT_DASSERT(columns && values.size() == columns->size(), "one value per column");
    }

    std::size_t size() const { return values_.size(); }
    const Value& operator[](std::size_t position) const {
        WEFT_ASSERT(position < values_.size(), "the row has no such column");
        return values_[position];
    }
    std::span<const Value> values() const { return values_; }
    const std::vector<Column>& columns() const { return **columns_; }
    // Null if there is no such column.
    const Value* find(std::string_view name) const;

    // Misuse, naming the column, if the column does not exist or its value does not fit T.
    template <class T>
    Result<T> get(std::string_view name) const {
        const Value* value = find(name);
        if (!value) return Error(ErrorKind::Misuse, "no column '" + std::string(name) + "'");
        return in_context(value->get<T>(), "column", name);
    }
    template <class T>
    Result<T> get(std::size_t position) const {
        if (position >= size()) return Error(ErrorKind::Misuse, "no column at that position");
        return in_context(values_[position].get<T>(), "column", (**columns_)[position].name);
    }

private:
    const Columns* columns_;
    std::span<const Value> values_;
};

class Rows {
public:
    Rows() = default;
    explicit Rows(Columns columns) : columns_(std::move(columns)) {}

    const std::vector<Column>& columns() const { return *shared_columns(); }
    const Columns& shared_columns() const { return columns_ ? columns_ : no_columns(); }
    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    Row operator[](std::size_t index) const {
        WEFT_ASSERT(index < count_, "the result has no such row");
        std::size_t width = columns().size();
        return {shared_columns(), std::span(values_).subspan(index * width, width)};
    }

    class Iterator {
    public:
        using value_type = Row;
        using difference_type = std::ptrdiff_t;

        Iterator() = default;
        Iterator(const Rows& rows, std::size_t index) : rows_(&rows), index_(index) {}
        Row operator*() const { return (*rows_)[index_]; }
        Iterator& operator++() {
            ++index_;
            return *this;
        }
        Iterator operator++(int) { return {*rows_, index_++}; }
        friend bool operator==(const Iterator&, const Iterator&) = default;

    private:
        const Rows* rows_ = nullptr;
        std::size_t index_ = 0;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, count_}; }

    // For providers: add the values of a row in column order, then call end_row().
    void add_value(Value&& value) { values_.push_back(std::move(value)); }
    // Makes the value of this in its place.
    template <class Content>
    void add_value(Content&& content) {
        values_.emplace_back(std::forward<Content>(content));
    }
    // Makes room for so many rows in all.
    void reserve(std::size_t rows) { values_.reserve(rows * columns().size()); }
    void end_row() {
        ++count_;
        WEFT_DASSERT(values_.size() == count_ * columns().size(), "one value per column");
    }

private:
    static const Columns& no_columns();

    Columns columns_;  // null: none, so that a result without columns counts no owners
    std::vector<Value> values_;
    std::size_t count_ = 0;
};

// The result of a statement.
struct Outcome {
    Rows rows;                                                  // empty if it returns none
    std::uint64_t affected_rows = 0;                            // inserted, changed or deleted
    std::optional<std::int64_t> last_insert_id = std::nullopt;  // if the database reports it
};

}  // namespace weft::data
