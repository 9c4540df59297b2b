// Parameters: values as PostgreSQL takes them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/postgres/internal/types.h"
#include "weft/data/value.h"

namespace weft::data::postgres {

// The type that a value has by itself, for where a statement leaves it open ("select $1"); kNone
// for null and text, which fit wherever their text does.
Oid natural_type(const Value& value);

// The text that PostgreSQL reads as this value; not for null and arrays.
Result<std::string> plain_text(const Value& value);

// The parameters of one execution, in the arrays that libpq takes. Errors say which parameter and
// why, never its value.
class Parameters {
public:
    // `types` are those that the statement has for its parameters, as the server told; kNone or
    // fewer of them where that is not known.
    static Result<Parameters> make(std::span<const Value> values, std::span<const Oid> types);

    Parameters(Parameters&&) = default;  // its arrays point into it, so there are no copies

    int count() const { return static_cast<int>(lengths_.size()); }
    const char* const* values() const { return pointers_.data(); }
    const int* lengths() const { return lengths_.data(); }
    const int* formats() const { return formats_.data(); }

private:
    Parameters() = default;
    Result<void> add(const Value& value, Oid type);
    void add_binary(std::string bytes);
    Result<void> add_text(std::string text);

    std::vector<std::string> buffers_;  // never grows beyond what was reserved
    std::vector<const char*> pointers_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

}  // namespace weft::data::postgres
