// Statement: the text of an SQL statement, and the values of its parameters, kept apart.
//
//     Statement find = sql("select name from users where id = {} and city = {}", id, city);
//
// Each {} is a parameter, whatever the provider's own placeholder is (?, $1, @p1); values never
// become part of the text. Literal braces are doubled: {{ }}. The compiler checks the number of
// parameters. The name of a table or column cannot be a parameter: identifier("order") inserts it,
// quoted; another Statement inserts its text and parameters. A plain string is a statement with the
// provider's own placeholders: Statement("select * from t where id = ?1", {7}). A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/data/value.h"

namespace weft::data {

enum class Placeholders : std::uint8_t { Question, Dollar, Named };  // ?, $1, @p1

// A name in double quotes; a quote inside it is doubled.
class Identifier {
public:
    const std::string& quoted() const { return quoted_; }

private:
    friend Result<Identifier> identifier(std::string_view name);
    explicit Identifier(std::string quoted) : quoted_(std::move(quoted)) {
        WEFT_ASSERT(quoted_.size() > 2, "identifier() refuses empty names");
    }

    std::string quoted_;
};
// Misuse if it is empty or contains a NUL. A dot is part of the name.
Result<Identifier> identifier(std::string_view name);

class Statement {
public:
    Statement() = default;
    // The text uses the provider's own placeholders.
    Statement(std::string text, std::vector<Value> parameters = {})
        : text_(std::move(text)), parameters_(std::move(parameters)) {}
    Statement(const char* text) : text_(text) {}

    // Append parts of the statement.
    Statement& add_text(std::string_view sql);
    Statement& add_parameter(Value value);
    Statement& add(const Identifier& name) { return add_text(name.quoted()); }
    Statement& add(const Statement& part);

    const std::vector<Value>& parameters() const { return parameters_; }
    // The text for a provider with placeholders of this kind.
    std::string text(Placeholders placeholders) const;
    // True if plain_text() is the text for every provider: there is no {} in it, so it is either in
    // the provider's own placeholders or has no parameters.
    bool is_plain() const { return gaps_.empty(); }
    const std::string& plain_text() const { return text_; }
    // Whether the texts are the same for every provider; the parameters may differ.
    bool has_text_of(const Statement& other) const {
        return text_ == other.text_ && gaps_ == other.gaps_;
    }

private:
    std::string text_;                 // excludes the placeholders in gaps_
    std::vector<std::uint32_t> gaps_;  // the offset in text_ of each parameter, ascending
    std::vector<Value> parameters_;
};

namespace statement_internal {

// Counts the {} of a format at compile time.
template <class... Arguments>
struct Format {
    template <std::size_t Size>
    consteval Format(const char (&literal)[Size]) : text(literal, Size - 1) {
        std::size_t count = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            if (text[at] != '{' && text[at] != '}') continue;
            char next = at + 1 < text.size() ? text[at + 1] : '\0';
            bool is_parameter = text[at] == '{' && next == '}';
            if (!is_parameter && next != text[at]) unbalanced_brace();
            count += is_parameter;
            ++at;
        }
        if (count != sizeof...(Arguments)) wrong_number_of_parameters();
    }
    // Not constexpr, so that reaching one is a compile error that shows its name.
    static void unbalanced_brace() {}
    static void wrong_number_of_parameters() {}

    std::string_view text;
};

// Adds the text up to the next parameter, and removes it and the {} from `rest`.
void add_until_parameter(Statement& statement, std::string_view& rest);

template <class Argument>
void add_argument(Statement& statement, Argument&& argument) {
    using Plain = std::remove_cvref_t<Argument>;
    if constexpr (std::is_same_v<Plain, Identifier> || std::is_same_v<Plain, Statement>) {
        statement.add(argument);
    } else {
        statement.add_parameter(Value(std::forward<Argument>(argument)));
    }
}

}  // namespace statement_internal

template <class... Arguments>
Statement sql(std::type_identity_t<statement_internal::Format<Arguments...>> format,
              Arguments&&... arguments) {
    Statement statement;
    std::string_view rest = format.text;
    ((statement_internal::add_until_parameter(statement, rest),
      statement_internal::add_argument(statement, std::forward<Arguments>(arguments))),
     ...);
    statement_internal::add_until_parameter(statement, rest);
    WEFT_DASSERT(rest.empty(), "the compiler has counted the parameters");
    return statement;
}

}  // namespace weft::data
