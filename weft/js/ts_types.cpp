// Types, which are parsed only to find their ends.
#include "weft/js/ts_parser.h"

namespace weft::js {

bool TsParser::annotation() {
    std::size_t begin = token_.begin;
    if (!expect(":") || !type()) return false;
    blank(begin, previous_end_);
    return true;
}

bool TsParser::optional_type() { return !is(":") || annotation(); }

// A return type may also be `asserts x is T` or `x is T`.
bool TsParser::return_type() {
    if (!is(":")) return true;
    std::size_t begin = token_.begin;
    advance();
    if (is("asserts")) {
        attempt([&] {
            advance();
            return is_name() && !token_.after_newline && !is("is");
        });
    }
    Token next = peek();
    if (is_name() && lexer_.text(next) == "is" && !next.after_newline) {
        advance();
        advance();
    }
    if (!type()) return false;
    blank(begin, previous_end_);
    return true;
}

bool TsParser::type() {
    Level level(depth_);
    if (level.is_too_deep()) return fail("this is nested too deep");
    if (is("<") || is("new") || (is("abstract") && peek_text() == "new")) return function_type();
    if (is("(") && attempt([&] { return function_type(); })) return true;
    if (!union_type()) return false;
    if (no_conditional_type_ || !is("extends") || token_.after_newline) return true;
    advance();
    no_conditional_type_ = true;
    bool extended = type();
    no_conditional_type_ = false;
    return extended && expect("?") && type() && expect(":") && type();
}

bool TsParser::function_type() {
    take("abstract");
    take("new");
    std::size_t kept = edits_.size();
    if (!type_parameters() || !is("(") || !skip_balanced() || !expect("=>")) return false;
    bool outer = std::exchange(no_conditional_type_, false);
    Token next = peek();
    if (is("asserts") && next.kind == TokenKind::Name && !next.after_newline) advance();
    if (is_name() && peek_text() == "is") {
        advance();
        advance();
    }
    bool result = type();
    no_conditional_type_ = outer;
    edits_.resize(kept);
    return result;
}

bool TsParser::union_type() {
    if (!take("|")) take("&");
    do {
        if (!type_operand()) return false;
    } while (take("|") || take("&"));
    return true;
}

bool TsParser::type_operand() {
    Token next = peek();
    bool is_operator =
        is_one_of({"keyof", "unique", "readonly"}) && !next.after_newline &&
        (next.kind == TokenKind::Name || lexer_.text(next) == "(" || lexer_.text(next) == "[" ||
         lexer_.text(next) == "{" || next.kind == TokenKind::String);
    if (is_operator) {
        advance();
        return type_operand();
    }
    if (is("infer") && next.kind == TokenKind::Name) {
        advance();
        advance();
        // `infer U extends string`, unless `extends` belongs to the conditional type around it.
        if (is("extends")) {
            attempt([&] {
                advance();
                bool outer = std::exchange(no_conditional_type_, true);
                bool bound = type();
                no_conditional_type_ = outer;
                return bound && !is("?");
            });
        }
        return true;
    }
    if (!type_primary()) return false;
    while (is("[") && !token_.after_newline)
        if (!skip_balanced()) return false;
    return true;
}

bool TsParser::type_primary() {
    switch (token_.kind) {
    case TokenKind::String:
    case TokenKind::Number:
    case TokenKind::Template: advance(); return true;
    case TokenKind::TemplateOpened: return skip_balanced();
    case TokenKind::Name: return type_name();
    default: break;
    }
    if (is("{") || is("[") || is("(")) return skip_balanced();
    if (take("-")) {
        bool is_number = token_.kind == TokenKind::Number;
        advance();
        return is_number;
    }
    return fail("a type was expected");
}

bool TsParser::type_name() {
    // These take no type arguments: in `a as number < b` the `<` is a comparison.
    bool is_keyword = is_one_of({"any", "bigint", "boolean", "never", "null", "number", "object",
                                 "string", "symbol", "undefined", "unknown", "void"});
    if (is_keyword && peek_text() != ".") {
        advance();
        return true;
    }
    if (is("typeof")) advance();
    if (is("import")) {
        advance();
        if (!is("(") || !skip_balanced()) return false;
    } else {
        if (!is_name() && token_.kind != TokenKind::PrivateName) return fail("a name was expected");
        advance();
    }
    while (is(".")) {
        advance();
        if (!is_name() && token_.kind != TokenKind::PrivateName) return false;
        advance();
    }
    return !is("<") || token_.after_newline || type_arguments();
}

bool TsParser::type_arguments() {
    if (!expect("<")) return false;
    bool outer = std::exchange(no_conditional_type_, false);
    bool good = true;
    while (good && !is(">")) {
        good = type();
        if (good && !take(",")) break;
    }
    no_conditional_type_ = outer;
    return good && expect(">");
}

// <T extends A = B, const U, in out V>, blanked.
bool TsParser::type_parameters() {
    if (!is("<")) return true;
    std::size_t begin = token_.begin;
    advance();
    while (!is(">")) {
        while (is_one_of({"const", "in", "out"}) && peek().kind == TokenKind::Name) advance();
        if (!is_name()) return fail("the name of a type was expected");
        advance();
        if (take("extends") && !type()) return false;
        if (take("=") && !type()) return false;
        if (!take(",")) break;
    }
    if (!expect(">")) return false;
    blank(begin, previous_end_);
    return true;
}

}  // namespace weft::js
