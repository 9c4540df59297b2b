#include "weft/data/statement.h"

#include <limits>

#include "weft/base/assert.h"

namespace weft::data {
namespace {

constexpr std::size_t kTextBytesMax = std::numeric_limits<std::uint32_t>::max();

void append_placeholder(std::string& text, Placeholders placeholders, std::size_t number) {
    switch (placeholders) {
    case Placeholders::Question: text.push_back('?'); return;
    case Placeholders::Dollar: text.append("$"); break;
    case Placeholders::Named: text.append("@p"); break;
    }
    text.append(std::to_string(number));
}

}  // namespace

Result<Identifier> identifier(std::string_view name) {
    if (name.empty()) return Error(ErrorKind::Misuse, "a name in a statement is empty");
    if (name.find('\0') != std::string_view::npos)
        return Error(ErrorKind::Misuse, "a name in a statement has a NUL");
    std::string quoted("\"");
    for (char c : name) {
        if (c == '"') quoted.push_back('"');
        quoted.push_back(c);
    }
    quoted.push_back('"');
    return Identifier(std::move(quoted));
}

Statement& Statement::add_text(std::string_view sql) {
    text_.append(sql);
    return *this;
}

Statement& Statement::add_parameter(Value value) {
    WEFT_ASSERT(text_.size() <= kTextBytesMax, "the place of a parameter fits 32 bits");
    gaps_.push_back(static_cast<std::uint32_t>(text_.size()));
    parameters_.push_back(std::move(value));
    return *this;
}

Statement& Statement::add(const Statement& part) {
    auto begin = static_cast<std::uint32_t>(text_.size());
    text_.append(part.text_);
    WEFT_ASSERT(text_.size() <= kTextBytesMax, "the place of a parameter fits 32 bits");
    for (std::uint32_t gap : part.gaps_) gaps_.push_back(begin + gap);
    parameters_.insert(parameters_.end(), part.parameters_.begin(), part.parameters_.end());
    return *this;
}

std::string Statement::text(Placeholders placeholders) const {
    std::string text;
    text.reserve(text_.size() + gaps_.size() * 4);
    std::size_t begin = 0;
    for (std::size_t number = 0; number < gaps_.size(); ++number) {
        WEFT_DASSERT(gaps_[number] >= begin && gaps_[number] <= text_.size(),
                     "the places of parameters ascend within the text");
        text.append(text_, begin, gaps_[number] - begin);
        begin = gaps_[number];
        append_placeholder(text, placeholders, number + 1);
    }
    text.append(text_, begin);
    return text;
}

namespace statement_internal {

void add_until_parameter(Statement& statement, std::string_view& rest) {
    while (!rest.empty()) {
        std::size_t brace = rest.find_first_of("{}");
        statement.add_text(rest.substr(0, brace));
        if (brace == std::string_view::npos) {
            rest = {};
            return;
        }
        std::string_view pair = rest.substr(brace, 2);
        WEFT_ASSERT(pair.size() == 2, "the compiler has checked that braces come in pairs");
        rest.remove_prefix(brace + 2);
        if (pair == "{}") return;
        statement.add_text(pair.substr(0, 1));
    }
}

}  // namespace statement_internal
}  // namespace weft::data
