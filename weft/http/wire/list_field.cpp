#include "weft/http/wire/list_field.h"

#include <cstddef>
#include <utility>

#include "weft/http/wire/characters.h"

namespace weft::http::wire {
namespace {

class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    void skip_blanks() {
        while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    }
    bool take(char character) {
        if (!rest_.starts_with(character)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view token() {  // empty if there is none
        const char* end = skip(Class::Token, rest_.data(), rest_.data() + rest_.size());
        std::string_view token = rest_.substr(0, static_cast<std::size_t>(end - rest_.data()));
        rest_.remove_prefix(token.size());
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
            take('\\');  // RFC 9110 §5.6.4: what follows stands for itself
            if (rest_.empty() || !is(Class::FieldValue, rest_.front())) return {};
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
