// JSX: elements are replaced by calls of the automatic runtime.
//
//     <p class="a" {...b}>text {c}</p>      _jsxs("p", { "class": "a", ...b, children: ["text ", c]
//     })
//
// The text between tags has no tokens of JavaScript, so these functions read bytes, and only
// expressions are parsed by the other functions.
#include <algorithm>

#include "weft/js/ts_parser.h"

namespace weft::js {
namespace {

bool is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

bool is_tag_byte(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte == '.' ||
           byte == '-' || byte == ':' || (byte & 0x80) != 0;
}

struct Entity {
    std::string_view name;
    std::string_view text;
};
constexpr Entity kEntities[] = {{"amp", "&"},         {"lt", "<"},           {"gt", ">"},
                                {"quot", "\""},       {"apos", "'"},         {"nbsp", "\xC2\xA0"},
                                {"copy", "\xC2\xA9"}, {"middot", "\xC2\xB7"}};

// A text as a string literal of JavaScript, with common entities replaced. A line end is written as
// \n; the edit keeps the line end itself.
std::string quoted_text(std::string_view text) {
    std::string out = "\"";
    for (std::size_t at = 0; at < text.size(); ++at) {
        char byte = text[at];
        if (byte == '&') {
            std::size_t end = text.find(';', at);
            std::string_view name =
                end == std::string_view::npos ? "" : text.substr(at + 1, end - at - 1);
            bool known = false;
            for (const Entity& entity : kEntities) {
                if (entity.name != name) continue;
                known = true;
                if (entity.text == "\"") out += '\\';
                out += entity.text;
            }
            if (known) {
                at = end;
                continue;
            }
        }
        if (byte == '"' || byte == '\\') out += '\\';
        if (byte == '\n')
            out += "\\n";
        else if (byte != '\r')
            out += byte;
    }
    return out + "\"";
}

// Trims the lines and joins them by single blanks; lines of blanks are dropped.
std::string child_text(std::string_view text) {
    std::string out;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = text.substr(begin, end - begin);
        bool is_first = begin == 0;
        bool is_last = end == text.size();
        while (!line.empty() && !is_first && is_blank(line.front())) line.remove_prefix(1);
        while (!line.empty() && !is_last && is_blank(line.back())) line.remove_suffix(1);
        if (!line.empty()) {
            if (!out.empty()) out += ' ';
            out += line;
        }
        begin = end + 1;
    }
    return out;
}

}  // namespace

std::size_t TsParser::skip_jsx_blanks(std::size_t at) const {
    std::string_view source = lexer_.source();
    while (at < source.size() && is_blank(source[at])) ++at;
    return at;
}

void TsParser::go_to(std::size_t at) {
    previous_end_ = at;
    lexer_.move_to(at);
    token_ = lexer_.scan();
}

// The current token is the `<`; afterwards it is the first one behind the element.
bool TsParser::jsx_element() {
    std::size_t at = token_.begin;
    if (!jsx_from(at)) return false;
    go_to(at);
    return true;
}

bool TsParser::jsx_from(std::size_t& at) {
    Level level(depth_);
    if (level.is_too_deep()) return fail("this is nested too deep");
    std::string_view source = lexer_.source();
    WEFT_DASSERT(at < source.size() && source[at] == '<', "an element begins with its tag");
    std::size_t open = at;
    std::size_t name_begin = skip_jsx_blanks(at + 1);
    at = name_begin;
    while (at < source.size() && is_tag_byte(source[at])) ++at;
    std::string name(source.substr(name_begin, at - name_begin));
    bool is_tag = !name.empty() && !name.contains('.') &&
                  ((name[0] >= 'a' && name[0] <= 'z') || name.contains('-'));
    if (!is_tag && !name.empty()) used_.insert(name.substr(0, name.find('.')));
    std::string type = name.empty() ? "_Fragment" : is_tag ? quoted_text(name) : name;
    std::size_t head = at;
    std::size_t edit = edits_.size();
    replace(open, head, "");  // Written when the number of children is known.
    bool is_empty = false;
    if (!jsx_attributes(at, is_empty)) return false;
    std::size_t children = 0;
    if (!is_empty && !jsx_children(at, children, name)) return false;
    WEFT_DASSERT(edit < edits_.size() && edits_[edit].begin == open,
                 "edits behind the tag's are all that was removed");
    edits_[edit].text = (children > 1 ? "_jsxs(" : "_jsx(") + type + ", {";
    has_jsx_ = true;
    return true;
}

// Moves to the `>`, or behind the `/>`, which is replaced.
bool TsParser::jsx_attributes(std::size_t& at, bool& is_empty) {
    std::string_view source = lexer_.source();
    while (true) {
        at = skip_jsx_blanks(at);
        if (at >= source.size()) return jsx_fail(at, "an element is not closed");
        if (source.substr(at).starts_with("/>")) {
            is_empty = true;
            replace(at, at + 2, "})");
            at += 2;
            return true;
        }
        if (source[at] == '>') return true;
        if (source[at] == '{') {
            blank(at, at + 1);
            go_to(at + 1);
            if (!expect("...") || !assignment() || !is("}")) return fail("\"}\" was expected");
            replace(token_.begin, token_.end, ",");
            at = token_.end;
            continue;
        }
        if (!jsx_attribute(at)) return false;
    }
}

bool TsParser::jsx_attribute(std::size_t& at) {
    std::string_view source = lexer_.source();
    std::size_t begin = at;
    while (at < source.size() && is_tag_byte(source[at])) ++at;
    if (at == begin) return jsx_fail(at, "the name of an attribute was expected");
    std::string name = quoted_text(source.substr(begin, at - begin));
    std::size_t after = skip_jsx_blanks(at);
    if (after >= source.size() || source[after] != '=') {
        replace(begin, at, name + ": true,");
        return true;
    }
    at = skip_jsx_blanks(after + 1);
    if (at >= source.size()) return jsx_fail(at, "a value was expected");
    char quote = source[at];
    if (quote == '"' || quote == '\'') {
        std::size_t end = source.find(quote, at + 1);
        if (end == std::string_view::npos) return jsx_fail(at, "a text is not closed");
        replace(begin, end + 1,
                name + ": " + quoted_text(source.substr(at + 1, end - at - 1)) + ",");
        at = end + 1;
        return true;
    }
    replace(begin, at, name + ": ");
    if (quote == '<') {
        if (!jsx_from(at)) return false;
        insert(at, ",");
        return true;
    }
    return jsx_container(at, ",");
}

// { expression } at this place. Without an expression it is a comment, and is blanked.
bool TsParser::jsx_container(std::size_t& at, std::string_view behind) {
    if (lexer_.source()[at] != '{') return jsx_fail(at, "\"{\" was expected");
    std::size_t begin = at;
    go_to(at + 1);
    if (is("}")) {
        at = token_.end;
        blank(begin, at);
        return true;
    }
    replace(begin, begin + 1, "(");
    if (take("...")) blank(previous_end_ - 3, previous_end_);
    bool outer = std::exchange(in_condition_, false);
    bool good = expression();
    in_condition_ = outer;
    if (!good || !is("}")) return fail("\"}\" was expected");
    replace(token_.begin, token_.end, ")" + std::string(behind));
    at = token_.end;
    return true;
}

// From the `>` of the opening tag to the end of the closing one.
bool TsParser::jsx_children(std::size_t& at, std::size_t& count, const std::string& name) {
    std::string_view source = lexer_.source();
    WEFT_DASSERT(at < source.size() && source[at] == '>', "the opening tag was read");
    std::size_t edit = edits_.size();
    [[maybe_unused]] std::size_t opened = at;
    replace(at, at + 1, "");
    ++at;
    while (true) {
        std::size_t begin = at;
        at = std::min(source.find_first_of("<{", at), source.size());
        if (at > begin) {
            std::string text = child_text(source.substr(begin, at - begin));
            if (!text.empty()) ++count;
            replace(begin, at, text.empty() ? "" : quoted_text(text) + ",");
        }
        if (at >= source.size()) return jsx_fail(begin, "the element " + name + " is not closed");
        if (source[at] == '{') {
            std::size_t had = edits_.size();
            [[maybe_unused]] std::size_t container = at;
            if (!jsx_container(at, ",")) return false;
            WEFT_DASSERT(had < edits_.size() && edits_[had].begin == container,
                         "the first edit of a container is that of its brace");
            if (!edits_[had].is_blank) ++count;
            continue;
        }
        std::size_t inside = skip_jsx_blanks(at + 1);
        if (inside >= source.size() || source[inside] != '/') {
            if (!jsx_from(at)) return false;
            insert(at, ",");
            ++count;
            continue;
        }
        std::size_t end = std::min(source.find('>', inside), source.size() - 1);
        std::size_t name_end = skip_jsx_blanks(inside + 1);
        if (!source.substr(name_end).starts_with(name))
            return jsx_fail(at, "the end of " + name + " was expected");
        WEFT_DASSERT(edit < edits_.size() && edits_[edit].begin == opened,
                     "edits behind the tag's are all that was removed");
        edits_[edit].text = count == 0 ? "" : "children: [";
        replace(at, end + 1, count == 0 ? "})" : count == 1 ? "][0]})" : "]})");
        at = end + 1;
        return true;
    }
}

bool TsParser::jsx_fail(std::size_t at, std::string message) {
    token_.begin = static_cast<std::uint32_t>(at);
    return fail(std::move(message));
}

}  // namespace weft::js
