// Parameters: values as PostgreSQL accepts them. Any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/postgres/internal/types.h"
#include "weft/data/value.h"

namespace weft::data::postgres {

// The type a value has by itself, where the statement leaves it open ("select $1"); kNone for null
// and text, which fit wherever their text does.
Oid natural_type(const Value& value);

// The text that PostgreSQL parses as this value; not for null and arrays.
Result<std::string> plain_text(const Value& value);

// The parameters of one execution, in the arrays that libpq takes. Errors name the parameter and
// the reason, never its value.
class Parameters {
public:
    // `types` are the parameter types that the server has reported; kNone, or fewer of them, where
    // they are unknown.
    static Result<Parameters> make(std::span<const Value> values, std::span<const Oid> types);

    Parameters(Parameters&&) = default;  // not copyable: its arrays point into it

    int count() const { return static_cast<int>(lengths_.size()); }
    const char* const* values() const { return pointers_.data(); }
    const int* lengths() const { return lengths_.data(); }
    const int* formats() const { return formats_.data(); }

private:
    Parameters() = default;
    Result<void> add(const Value& value, Oid type);
    void add_binary(std::string bytes);
    Result<void> add_text(std::string text);

    std::vector<std::string> buffers_;  // reserved once; growing would move the strings
    std::vector<const char*> pointers_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

}  // namespace weft::data::postgres
