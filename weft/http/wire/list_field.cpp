#include "weft/http/wire/list_field.h"

#include <cstddef>
#include <utility>

namespace weft::http::wire {
namespace {

// RFC 9110 §5.6.2.
bool is_token_character(char character) {
    if (character >= '0' && character <= '9') return true;
    if (character >= 'A' && character <= 'Z') return true;
    if (character >= 'a' && character <= 'z') return true;
    return character != '\0' && std::string_view("!#$%&'*+-.^_`|~").contains(character);
}

// RFC 9110 §5.6.4: what may stand in quotes, escaped or not.
bool is_quotable(char character) {
    return character == '\t' || (static_cast<unsigned char>(character) >= ' ' && character != 0x7f);
}

class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    void skip_blanks() {
        while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
    }
    bool take(char character) {
        if (!rest_.starts_with(character)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view token() {  // empty if there is none
        std::size_t count = 0;
        while (count < rest_.size() && is_token_character(rest_[count])) ++count;
        std::string_view token = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return token;
    }
    std::optional<std::string> value() {
        if (!take('"')) {
            std::string_view text = token();
            if (text.empty()) return {};
            return std::string(text);
        }
        std::string text;
        while (!take('"')) {
            take('\\');
            if (rest_.empty() || !is_quotable(rest_.front())) return {};
            text += rest_.front();
            rest_.remove_prefix(1);
        }
        return text;
    }

private:
    std::string_view rest_;
};

std::optional<ListMember> parse_member(Reader& reader) {
    ListMember member{.name = reader.token(), .parameters = {}};
    if (member.name.empty()) return {};
    for (;;) {
        reader.skip_blanks();
        if (!reader.take(';')) return member;
        reader.skip_blanks();
        ListParameter parameter{.name = reader.token(), .value = {}};
        if (parameter.name.empty()) return {};
        if (reader.take('=')) {
            parameter.value = reader.value();
            if (!parameter.value) return {};
        }
        member.parameters.push_back(std::move(parameter));
    }
}

}  // namespace

std::optional<std::vector<ListMember>> parse_list_field(std::string_view text) {
    std::vector<ListMember> members;
    Reader reader(text);
    for (;;) {
        reader.skip_blanks();
        if (reader.at_end()) return members;
        if (reader.take(',')) continue;
        std::optional<ListMember> member = parse_member(reader);
        if (!member) return {};
        members.push_back(std::move(*member));
        if (!reader.at_end() && !reader.take(',')) return {};
    }
}

}  // namespace weft::http::wire
