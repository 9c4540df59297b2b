#include "weft/js/import_attributes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/js/lexer.h"

namespace weft::js {
namespace {

constexpr std::string_view kWith = "with";

bool is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

class Attributes {
public:
    explicit Attributes(std::string source)
        : source_(std::move(source)), tokens_(all_tokens(source_)) {}

    std::expected<std::string, TypeScriptError> blanked() {
        std::string result = source_;
        for (std::size_t at = 0; at + 2 < tokens_.size(); ++at) {
            std::size_t begin = at + 1;
            std::size_t brace = begins_at(at) ? at + 2 : 0;
            std::size_t braces = 1;
            if (text_at(at) == "import" && text_at(at + 1) == "(" &&
                (at == 0 || text_at(at - 1) != ".")) {
                begin = second_argument(at + 1);
                if (begin != 0) brace = begin + 4;
                braces = 2;
            }
            if (brace == 0) continue;
            WEFT_DASSERT(text_at(brace) == "{", "attributes begin with a brace");
            std::expected<std::size_t, TypeScriptError> end = read(brace);
            if (!end) return std::unexpected(std::move(end.error()));
            at = *end;
            if (braces == 2 && !close_options(at)) return refuse(at, "'})' was expected");
            WEFT_ASSERT(begin < at && at < tokens_.size(), "the attributes end behind their begin");
            for (std::size_t byte = tokens_[begin].begin; byte < tokens_[at].end; ++byte)
                if (result[byte] != '\n' && result[byte] != '\r') result[byte] = ' ';
        }
        WEFT_DASSERT(result.size() == source_.size(), "no byte moves");
        return result;
    }

private:
    std::string_view text_at(std::size_t at) const {
        if (at >= tokens_.size()) return {};
        return std::string_view(source_).substr(tokens_[at].begin,
                                                tokens_[at].end - tokens_[at].begin);
    }

    // The name of a module, followed by `with {`: no other syntax of a module looks like this.
    bool begins_at(std::size_t at) const {
        if (at == 0 || tokens_[at].kind != TokenKind::String) return false;
        bool names_module = text_at(at - 1) == "from" || text_at(at - 1) == "import";
        return names_module && text_at(at + 1) == kWith && text_at(at + 2) == "{";
    }

    // From the parenthesis of import(): the comma before `{ with: {`; 0: there is none.
    std::size_t second_argument(std::size_t at) const {
        int depth = 0;
        for (; at < tokens_.size(); ++at) {
            TokenKind kind = tokens_[at].kind;
            std::string_view text = text_at(at);
            bool is_template = kind == TokenKind::Template || kind == TokenKind::TemplateOpened;
            if (is_template) {
                if (kind == TokenKind::TemplateOpened && text.starts_with('`')) ++depth;
                if (kind == TokenKind::Template && text.starts_with('}')) --depth;
            } else if (text == "(" || text == "[" || text == "{") {
                ++depth;
            } else if ((text == ")" || text == "]" || text == "}") && --depth == 0) {
                return 0;
            } else if (text == "," && depth == 1) {
                break;
            }
        }
        bool is_key = text_at(at + 2) == kWith ||
                      (at + 2 < tokens_.size() && tokens_[at + 2].kind == TokenKind::String &&
                       string_value(text_at(at + 2)) == kWith);
        bool has =
            text_at(at + 1) == "{" && is_key && text_at(at + 3) == ":" && text_at(at + 4) == "{";
        return has ? at : 0;
    }

    // Moves from the brace that closes the attributes to the one that closes the options, which the
    // parenthesis must follow.
    bool close_options(std::size_t& at) const {
        if (text_at(at + 1) == ",") ++at;
        if (text_at(++at) != "}") return false;
        if (text_at(at + 1) == ",") ++at;
        return text_at(at + 1) == ")";
    }

    // From the opening brace of the attributes; returns the place of the closing one.
    std::expected<std::size_t, TypeScriptError> read(std::size_t at) const {
        for (++at; text_at(at) != "}"; ++at) {
            if (at + 2 >= tokens_.size() || text_at(at + 1) != ":" ||
                tokens_[at + 2].kind != TokenKind::String)
                return refuse(at, "an import attribute such as type: \"json\" was expected");
            bool is_string = tokens_[at].kind == TokenKind::String;
            std::string key = is_string ? string_value(text_at(at)) : std::string(text_at(at));
            if (key != "type")
                return refuse(at, "there is no import attribute '" + key + "', only 'type'");
            std::string value = string_value(text_at(at + 2));
            if (value != "json")
                return refuse(at + 2, "there is no type of modules '" + value + "', only 'json'");
            at += 3;
            if (text_at(at) == "}") break;
            if (text_at(at) != ",") return refuse(at, "'}' was expected");
        }
        WEFT_DASSERT(text_at(at) == "}", "the attributes end with a brace");
        return at;
    }

    std::unexpected<TypeScriptError> refuse(std::size_t at, std::string message) const {
        std::size_t byte = at < tokens_.size() ? tokens_[at].begin : source_.size();
        std::string_view before = std::string_view(source_).substr(0, byte);
        auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
        std::size_t begin = before.rfind('\n') + 1;  // 0 if there is none
        return std::unexpected(TypeScriptError{line, byte - begin + 1, std::move(message)});
    }

    std::string source_;
    std::vector<Token> tokens_;
};

}  // namespace

bool may_have_import_attributes(std::string_view source) {
    for (std::size_t at = source.find(kWith); at != std::string_view::npos;
         at = source.find(kWith, at + 1)) {
        std::size_t before = at;
        while (before > 0 && is_blank(source[before - 1])) --before;
        if (before == 0) continue;
        char last = source[before - 1];
        // A slash: there may be a comment between the two.
        if (last == '"' || last == '\'' || last == '/') return true;
        std::size_t behind = source.find_first_not_of(" \t\r\n", at + kWith.size());
        bool is_key = behind != std::string_view::npos && source[behind] == ':';
        if (last == '{' && is_key) return true;
    }
    return false;
}

std::expected<std::string, TypeScriptError> without_import_attributes(std::string source) {
    return Attributes(std::move(source)).blanked();
}

}  // namespace weft::js
