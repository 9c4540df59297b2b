#include "weft/js/ts_parser.h"

#include <algorithm>

namespace weft::js {

TsParser::TsParser(std::string_view source, Jsx jsx)
    : jsx_(jsx), lexer_(source), token_(lexer_.scan()) {}

bool TsParser::is_plain() const {
    return token_.kind == TokenKind::Punctuator || token_.kind == TokenKind::Name;
}

bool TsParser::is_one_of(std::initializer_list<std::string_view> words) const {
    return is_plain() && std::find(words.begin(), words.end(), text()) != words.end();
}

void TsParser::advance() {
    previous_end_ = token_.end;
    token_ = lexer_.scan();
}

bool TsParser::take(std::string_view wanted) {
    if (!is(wanted)) return false;
    advance();
    return true;
}

bool TsParser::expect(std::string_view wanted) {
    return take(wanted) || fail("\"" + std::string(wanted) + "\" was expected");
}

// Keeps the error of the attempt that came farthest.
bool TsParser::fail(std::string message) {
    if (error_.empty() || token_.begin > error_at_) {
        error_ = std::move(message);
        error_at_ = token_.begin;
    }
    return false;
}

Token TsParser::peek() {
    std::size_t here = lexer_.position();
    Token next = lexer_.scan();
    lexer_.move_to(here);
    return next;
}

void TsParser::blank(std::size_t begin, std::size_t end) {
    WEFT_DASSERT(begin <= end && end <= lexer_.source().size(), "an edit is in the text");
    edits_.push_back({begin, end, {}, true});
}

void TsParser::blank_here() {
    blank(token_.begin, token_.end);
    advance();
}

void TsParser::replace(std::size_t begin, std::size_t end, std::string text) {
    WEFT_DASSERT(begin <= end && end <= lexer_.source().size(), "an edit is in the text");
    edits_.push_back({begin, end, std::move(text), false});
}

// The semicolon keeps the statements before and after from being parsed as one.
void TsParser::blank_statement(std::size_t begin) {
    WEFT_ASSERT(begin < previous_end_, "a statement has a byte, which becomes the semicolon");
    std::erase_if(edits_, [&](const TsEdit& edit) { return edit.begin >= begin; });
    replace(begin, begin + 1, ";");
    blank(begin + 1, previous_end_);
}

TsParser::Mark TsParser::mark() const {
    return {lexer_.position(), previous_end_, token_, edits_.size(), imports_.size()};
}

void TsParser::reset(const Mark& mark) {
    WEFT_DASSERT(mark.edits <= edits_.size() && mark.imports <= imports_.size(),
                 "an attempt removes only what it has added");
    lexer_.move_to(mark.position);
    previous_end_ = mark.previous_end;
    token_ = mark.token;
    edits_.erase(edits_.begin() + static_cast<std::ptrdiff_t>(mark.edits), edits_.end());
    imports_.erase(imports_.begin() + static_cast<std::ptrdiff_t>(mark.imports), imports_.end());
}

bool TsParser::semicolon() {
    if (take(";") || is("}") || at_end() || token_.after_newline) return true;
    return fail("a semicolon was expected");
}

// Moves from an opening bracket, or the beginning of a template, behind the token that closes it.
bool TsParser::skip_balanced() {
    bool opens = is("(") || is("[") || is("{") || token_.kind == TokenKind::TemplateOpened;
    if (!opens) return fail("a bracket was expected");
    std::vector<char> open;
    do {
        std::string_view here = text();
        if (at_end()) return fail("a bracket is not closed");
        if (token_.kind == TokenKind::TemplateOpened) {
            if (here.starts_with('`')) open.push_back('$');
        } else if (is("(") || is("[") || is("{")) {
            open.push_back(here[0]);
        } else if (is("}") && !open.empty() && open.back() == '$') {
            token_ = lexer_.template_rest(token_);
            if (token_.kind == TokenKind::Template) open.pop_back();
        } else if (is(")") || is("]") || is("}")) {
            open.pop_back();
        }
        advance();
    } while (!open.empty());
    return true;
}

bool TsParser::program() {
    WEFT_ASSERT(edits_.empty() && imports_.empty(), "a parser parses one text, once");
    while (!at_end()) {
        [[maybe_unused]] std::size_t before = token_.begin;
        if (!statement()) return false;
        WEFT_DASSERT(token_.begin > before, "a statement has a token, so that the loop ends");
    }
    WEFT_DASSERT(depth_ == 0, "every level was left");
    drop_unused_imports();
    return true;
}

// TypeScript removes imports that are used only as types, so code does not mark them.
void TsParser::drop_unused_imports() {
    for (const Import& import : imports_) {
        auto is_used = [&](const ImportedName& name) { return used_.contains(name.local); };
        if (std::ranges::none_of(import.names, is_used)) {
            std::erase_if(edits_, [&](const TsEdit& edit) {
                return edit.begin >= import.begin && edit.begin < import.end;
            });
            replace(import.begin, import.begin + 1, ";");
            blank(import.begin + 1, import.end);
            continue;
        }
        for (const ImportedName& name : import.names)
            if (!is_used(name) && !name.is_whole) blank(name.begin, name.end);
    }
    for (const ImportedName& name : exports_)
        if (types_.contains(name.local)) blank(name.begin, name.end);
}

}  // namespace weft::js
