// Expressions of TypeScript. Precedence does not matter, because no tree is built.
#include <array>
#include <span>

#include "weft/js/ts_parser.h"

namespace weft::js {
namespace {

constexpr std::array<std::string_view, 33> kBinary = {
    "=",   "+=",   "-=", "*=", "/=",  "%=",  "**=", "&=", "|=", "^=",         "&&=",
    "||=", "?\?=", "==", "!=", "===", "!==", "+",   "-",  "*",  "/",          "%",
    "**",  "&",    "|",  "^",  "&&",  "||",  "?\?", "<",  ">",  "instanceof", "in"};

}  // namespace

bool TsParser::expression(bool no_in) {
    do {
        if (!assignment(no_in)) return false;
    } while (take(","));
    return true;
}

bool TsParser::assignment(bool no_in) {
    Level level(depth_);
    if (level.is_too_deep()) return fail("this is nested too deep");
    if (is("yield")) {
        advance();
        if (token_.after_newline || is_one_of({")", "]", "}", ",", ";", ":"}) || at_end())
            return true;
        take("*");
        return assignment(no_in);
    }
    bool may_be_arrow = is("(") || is("<") || is_name();
    if (may_be_arrow && arrow_function()) return true;
    return operators(no_in);
}

bool TsParser::is_binary_operator(bool no_in) const {
    if (token_.kind != TokenKind::Punctuator && !is_name()) return false;
    if (text() == "in" && no_in) return false;
    for (std::string_view one : kBinary)
        if (text() == one) return true;
    return false;
}

// Each `<` and `>` is a token of its own: `>>>=` is four tokens without blanks between.
void TsParser::take_operator() {
    bool is_angle = is("<") || is(">");
    advance();
    while (is_angle && token_.begin == previous_end_ &&
           (is("<") || is(">") || text() == "=" || text() == "=="))
        advance();
}

bool TsParser::operators(bool no_in) {
    while (true) {
        if (!unary()) return false;
        while (is_one_of({"as", "satisfies"}) && !token_.after_newline) {
            std::size_t begin = token_.begin;
            advance();
            if (!type()) return false;
            blank(begin, previous_end_);
        }
        if (is("?")) return conditional();
        if (!is_binary_operator(no_in)) return true;
        bool assigns = text().ends_with('=') && !is_one_of({"==", "!=", "===", "!=="});
        take_operator();
        if (assigns) return assignment(no_in);
    }
}

bool TsParser::conditional() {
    advance();
    bool outer = std::exchange(in_condition_, true);
    bool good = assignment();
    in_condition_ = outer;
    return good && expect(":") && assignment();
}

// ---- arrows

bool TsParser::arrow_function() {
    Token next = peek();
    bool is_async = is("async") && !next.after_newline;
    if (is_name() && lexer_.text(next) == "=>") {
        advance();
        return arrow_rest();
    }
    if (is_async && next.kind == TokenKind::Name) {
        return attempt([&] {
            advance();
            advance();
            return is("=>") && arrow_rest();
        });
    }
    bool begins =
        is("(") || is("<") || (is_async && (lexer_.text(next) == "(" || lexer_.text(next) == "<"));
    if (!begins) return false;
    return attempt([&] {
        if (is_async) advance();
        if (!type_parameters() || !is("(") || !parameters(nullptr)) return false;
        bool has_type = is(":");
        if (!return_type() || !is("=>") || token_.after_newline) return false;
        if (!arrow_rest()) return false;
        // In `a ? (b) : c => d`, c is the return type of an arrow only if another colon follows.
        return !has_type || !in_condition_ || is(":");
    });
}

bool TsParser::arrow_rest() {
    if (!expect("=>")) return false;
    if (!is("{")) return assignment();
    bool outer = std::exchange(in_condition_, false);
    bool good = block();
    in_condition_ = outer;
    return good;
}

// ---- operands

bool TsParser::unary() {
    while (
        is_one_of({"!", "~", "+", "-", "++", "--", "typeof", "void", "delete", "await", "new"})) {
        // `new.target` is an operand.
        if (is("new") && peek_text() == ".") break;
        advance();
    }
    if (is("<") && jsx_ == Jsx::Yes) return postfix();
    if (is("<")) {
        // <T>value
        std::size_t begin = token_.begin;
        if (!type_arguments()) return false;
        blank(begin, previous_end_);
        return unary();
    }
    return postfix();
}

bool TsParser::postfix() {
    if (!primary()) return false;
    bool more = true;
    while (more)
        if (!postfix_step(more)) return false;
    return true;
}

bool TsParser::postfix_step(bool& more) {
    more = true;
    if (is(".") || is("?.")) {
        bool is_chain = is("?.");
        advance();
        if (is_name() || token_.kind == TokenKind::PrivateName) return advance(), true;
        return is_chain;  // `?.(`, `?.[` come next
    }
    if (is("[")) {
        bool outer = std::exchange(in_condition_, false);
        advance();
        bool good = expression() && expect("]");
        in_condition_ = outer;
        return good;
    }
    if (is("(")) return arguments();
    if (token_.kind == TokenKind::Template || token_.kind == TokenKind::TemplateOpened)
        return template_literal();
    if (is("!") && !token_.after_newline) return blank_here(), true;
    if ((is("++") || is("--")) && !token_.after_newline) return advance(), true;
    if (is("<") && attempt([&] { return type_arguments_in_expression(); })) return true;
    more = false;
    return true;
}

bool TsParser::type_arguments_in_expression() {
    std::size_t begin = token_.begin;
    if (!type_arguments()) return false;
    bool calls =
        is("(") || token_.kind == TokenKind::Template || token_.kind == TokenKind::TemplateOpened;
    bool ends = is_one_of({")", "]", "}", ",", ";", ":", ".", "?.", "?",
                           "==", "!=", "===", "!==", "&&", "||", "?\?", "as", "satisfies"}) ||
                at_end() || token_.after_newline;
    bool heads = in_heritage_ && (is("{") || is("implements"));
    if (!calls && !ends && !heads) return false;
    blank(begin, previous_end_);
    return true;
}

bool TsParser::arguments() {
    if (!expect("(")) return false;
    bool outer = std::exchange(in_condition_, false);
    bool good = true;
    while (good && !is(")")) {
        take("...");
        good = assignment();
        if (good && !take(",")) break;
    }
    in_condition_ = outer;
    return good && expect(")");
}

bool TsParser::primary() {
    if (is("/") || is("/=")) {
        token_ = lexer_.regexp(token_);
        advance();
        return true;
    }
    switch (token_.kind) {
    case TokenKind::Number:
    case TokenKind::String:
    case TokenKind::PrivateName: advance(); return true;
    case TokenKind::Template:
    case TokenKind::TemplateOpened: return template_literal();
    case TokenKind::Name: return primary_name();
    default: break;
    }
    if (is("(")) {
        bool outer = std::exchange(in_condition_, false);
        advance();
        bool good = expression() && expect(")");
        in_condition_ = outer;
        return good;
    }
    if (is("[")) return array_literal();
    if (is("{")) return object_literal();
    if (is("@")) return decorators() && class_definition();
    if (is("<") && jsx_ == Jsx::Yes) return jsx_element();
    return fail("an expression was expected");
}

bool TsParser::primary_name() {
    if (is("function") || (is("async") && peek_text() == "function" && !peek().after_newline)) {
        bool has_body = false;
        return function(has_body) && (has_body || fail("a function needs a body"));
    }
    if (is("class")) return class_definition();
    if (is("super") && peek_text() == "(") {
        advance();
        if (!arguments()) return false;
        if (super_end_ == 0) super_end_ = previous_end_;
        return true;
    }
    used_.insert(std::string(text()));
    advance();
    return true;
}

bool TsParser::array_literal() {
    bool outer = std::exchange(in_condition_, false);
    advance();
    bool good = true;
    while (good && !is("]")) {
        if (take(",")) continue;
        take("...");
        good = assignment();
        if (good && !is("]")) good = expect(",");
    }
    in_condition_ = outer;
    return good && expect("]");
}

bool TsParser::object_literal() {
    bool outer = std::exchange(in_condition_, false);
    advance();
    bool good = true;
    while (good && !is("}")) {
        good = object_member();
        if (good && !take(",")) break;
    }
    in_condition_ = outer;
    return good && expect("}");
}

bool TsParser::object_member() {
    if (take("...")) return assignment();
    while (is_one_of({"get", "set", "async"})) {
        std::string_view next = peek_text();
        if (next == "(" || next == ":" || next == "," || next == "}" || next == "=" || next == "<")
            break;
        advance();
    }
    take("*");
    std::string name = is_name() ? std::string(text()) : std::string();
    if (!member_key()) return false;
    if (is("(") || is("<")) {
        if (!type_parameters() || !parameters(nullptr) || !return_type()) return false;
        return block();
    }
    if (take(":")) return assignment();
    used_.insert(name);
    return !take("=") || assignment();
}

bool TsParser::template_literal() {
    WEFT_DASSERT(token_.kind == TokenKind::Template || token_.kind == TokenKind::TemplateOpened,
                 "a template begins with one of its parts");
    while (token_.kind == TokenKind::TemplateOpened) {
        bool outer = std::exchange(in_condition_, false);
        advance();
        bool good = expression();
        in_condition_ = outer;
        if (!good) return false;
        if (!is("}")) return fail("the end of an expression in a template was expected");
        token_ = lexer_.template_rest(token_);
    }
    advance();
    return true;
}

}  // namespace weft::js
