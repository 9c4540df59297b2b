// Statements of TypeScript.
#include <algorithm>
#include <string>
#include <string_view>

#include "weft/js/ts_parser.h"

namespace weft::js {
namespace {

// A string token without its line continuations, which are not part of its value. Who writes the
// token elsewhere, or twice, would add lines.
std::string without_continuations(std::string_view literal) {
    std::string out;
    for (std::size_t at = 0; at < literal.size(); ++at) {
        std::string_view rest = literal.substr(at);
        if (rest.starts_with("\\\r\n")) {
            at += 2;
        } else if (rest.starts_with("\\\n") || rest.starts_with("\\\r")) {
            at += 1;
        } else {
            out += rest[0];
            if (rest[0] == '\\' && rest.size() > 1) out += literal[++at];
        }
    }
    return out;
}

}  // namespace

bool TsParser::statement() {
    Level level(depth_);
    if (level.is_too_deep()) return fail("this is nested too deep");
    if (take(";")) return true;
    if (is("{")) return block();
    std::size_t begin = token_.begin;
    bool was_type = false;
    if (is_name() && !type_statement(begin, was_type)) return false;
    if (was_type) return true;
    ++values_;
    if (is("@")) return decorators() && statement();
    if (is_name()) return statement_by_word();
    return expression() && semicolon();
}

// Statements that only TypeScript has.
bool TsParser::type_statement(std::size_t begin, bool& was_one) {
    Token next = peek();
    bool names_one = next.kind == TokenKind::Name && !next.after_newline &&
                     lexer_.text(next) != "in" && lexer_.text(next) != "instanceof";
    was_one = true;
    if (is("type") && names_one) return type_alias(begin);
    if (is("interface") && names_one) return interface(begin);
    if (is("enum") && names_one) return enumeration(begin, false);
    if (is("const") && lexer_.text(next) == "enum") return enumeration(begin, false);
    if (is("declare") && names_one) return declared(begin);
    bool names_module = names_one || (is("module") && next.kind == TokenKind::String);
    if ((is("namespace") || is("module")) && names_module) return name_space(begin);
    was_one = false;
    return true;
}

bool TsParser::statement_by_word() {
    std::size_t begin = token_.begin;
    Token next = peek();
    std::string_view after = lexer_.text(next);
    if (is_one_of({"var", "let", "const"})) return advance(), variables(false) && semicolon();
    if (is("function") || (is("async") && after == "function" && !next.after_newline))
        return function_statement(begin);
    if (is("abstract") && after == "class") blank_here();
    if (is("class")) return class_definition();
    if (is("import") && after != "(" && after != ".") return import_statement();
    if (is("export")) return export_statement();
    if (is_one_of({"if", "while", "with", "for", "do"})) return control();
    if (is("try")) return try_statement();
    if (is("switch")) return switch_statement();
    if (is_one_of({"return", "throw"})) {
        advance();
        if (is(";") || is("}") || at_end() || token_.after_newline) return semicolon();
        return expression() && semicolon();
    }
    if (is_one_of({"break", "continue", "debugger"})) {
        advance();
        if (is_name() && !token_.after_newline) advance();
        return semicolon();
    }
    if (after == ":") {
        advance();
        advance();
        return statement();
    }
    return expression() && semicolon();
}

bool TsParser::block() {
    if (!expect("{")) return false;
    while (!is("}")) {
        if (at_end()) return fail("a block is not closed");
        if (!statement()) return false;
    }
    advance();
    return true;
}

bool TsParser::control() {
    if (take("do")) {
        if (!statement() || !expect("while") || !expect("(") || !expression() || !expect(")"))
            return false;
        take(";");
        return true;
    }
    bool is_if = is("if");
    bool is_for = is("for");
    advance();
    if (is_for) take("await");
    if (!expect("(") || !(is_for ? for_head() : expression()) || !expect(")")) return false;
    if (!statement()) return false;
    return !is_if || !take("else") || statement();
}

bool TsParser::for_head() {
    if (is_one_of({"var", "let", "const"})) {
        advance();
        if (!variables(true)) return false;
    } else if (!is(";") && !expression(true)) {
        return false;
    }
    if (take("of")) return assignment();
    if (take("in")) return expression();
    if (!expect(";") || (!is(";") && !expression())) return false;
    return expect(";") && (is(")") || expression());
}

bool TsParser::try_statement() {
    advance();
    if (!block()) return false;
    if (take("catch")) {
        if (take("(") && !(binding() && optional_type() && expect(")"))) return false;
        if (!block()) return false;
    }
    return !take("finally") || block();
}

bool TsParser::switch_statement() {
    advance();
    if (!expect("(") || !expression() || !expect(")") || !expect("{")) return false;
    while (!take("}")) {
        if (at_end()) return fail("a switch is not closed");
        if (take("case")) {
            if (!expression() || !expect(":")) return false;
        } else if (is("default") && peek_text() == ":") {
            advance();
            advance();
        } else if (!statement()) {
            return false;
        }
    }
    return true;
}

bool TsParser::variables(bool in_for) {
    do {
        if (!binding()) return false;
        if (is("!")) blank_here();
        if (!optional_type()) return false;
        if (take("=") && !assignment(in_for)) return false;
    } while (take(","));
    return true;
}

bool TsParser::function_statement(std::size_t begin) {
    bool has_body = false;
    if (!function(has_body)) return false;
    if (has_body) return true;
    // An overload signature; the function with the body follows.
    if (!semicolon()) return false;
    blank_statement(begin);
    return true;
}

bool TsParser::type_alias(std::size_t begin) {
    advance();
    types_.insert(std::string(text()));
    advance();
    if (!type_parameters() || !expect("=") || !type() || !semicolon()) return false;
    blank_statement(begin);
    return true;
}

bool TsParser::interface(std::size_t begin) {
    advance();
    types_.insert(std::string(text()));
    advance();
    if (!type_parameters()) return false;
    if (take("extends")) {
        do {
            if (!type_name()) return false;
        } while (take(","));
    }
    if (!is("{") || !skip_balanced()) return fail("an interface has a body");
    blank_statement(begin);
    return true;
}

bool TsParser::declared(std::size_t begin) {
    std::size_t values = values_;
    advance();
    if (is_one_of({"global", "module", "namespace"})) {
        while (!is("{") && !is(";") && !at_end()) advance();
        if (is("{") ? !skip_balanced() : !semicolon()) return false;
    } else if (!statement()) {
        return false;
    }
    values_ = values;
    blank_statement(begin);
    return true;
}

// A namespace of types is blanked. One with values would need an object, which is not supported.
bool TsParser::name_space(std::size_t begin) {
    std::size_t name_at = token_.begin;
    advance();
    while (is_name() || is(".") || token_.kind == TokenKind::String) advance();
    std::size_t values = values_;
    if (!block()) return false;
    if (values_ != values) {
        error_ = "a namespace with values is not supported: use a module, or an object";
        error_at_ = name_at;
        return false;
    }
    blank_statement(begin);
    return true;
}

// ---- enums

// enum A { B, C = 5 } becomes
// var A; (function (A) { A[A["B"] = 0] = "B"; A[A["C"] = 5] = "C"; })(A || (A = {}));
bool TsParser::enumeration(std::size_t begin, bool is_exported) {
    ++values_;
    take("const");
    advance();
    std::string name(text());
    advance();
    if (!is("{")) return expect("{");
    replace(begin, token_.end,
            (is_exported ? "export var " : "var ") + name + "; (function (" + name + ") {");
    advance();
    std::vector<std::string> members;
    std::string next_value = "0";
    while (!is("}")) {
        if (!enum_member(name, members, next_value)) return false;
        if (!is(",")) break;
        replace(token_.begin, token_.end, ";");
        advance();
    }
    if (!is("}")) return expect("}");
    replace(token_.begin, token_.end, "})(" + name + " || (" + name + " = {}));");
    advance();
    return true;
}

bool TsParser::enum_member(const std::string& name, std::vector<std::string>& members,
                           std::string& next_value) {
    bool is_text = token_.kind == TokenKind::String;
    if (!is_name() && !is_text) return fail("the name of a member was expected");
    std::string quoted =
        is_text ? without_continuations(text()) : "\"" + std::string(text()) + "\"";
    std::string member = string_value(quoted);
    std::string place = name + "[" + quoted + "]";
    std::size_t begin = token_.begin;
    advance();
    std::string numbered = " = " + next_value;
    if (!take("=")) {
        replace(begin, previous_end_, name + "[" + place + numbered + "] = " + quoted);
        next_value = place + " + 1";
        members.push_back(std::move(member));
        return true;
    }
    // A member with a string value has no reverse mapping.
    Token next = peek();
    std::string_view after = lexer_.text(next);
    bool is_string = (token_.kind == TokenKind::String || token_.kind == TokenKind::Template) &&
                     (after == "," || after == "}");
    replace(begin, token_.begin, is_string ? place + " = " : name + "[" + place + " = ");
    if (!enum_value(name, members)) return false;
    if (!is_string) insert(previous_end_, "] = " + quoted);
    next_value = place + " + 1";
    members.push_back(std::move(member));
    return true;
}

// An initializer can name the members before it, which become properties of the enum's object.
bool TsParser::enum_value(const std::string& name, const std::vector<std::string>& members) {
    Mark start = mark();
    std::vector<std::size_t> places;
    for (bool after_dot = false; !is(",") && !is("}") && !at_end(); advance()) {
        bool is_member =
            is_name() && !after_dot && std::ranges::find(members, text()) != members.end();
        if (is_member) places.push_back(token_.begin);
        after_dot = is(".");
        if (is("(")) break;
    }
    reset(start);
    if (!assignment()) return false;
    // Behind the initializer: a statement in it that is blanked removes the edits of its own part.
    for (std::size_t place : places) insert(place, name + ".");
    return true;
}

}  // namespace weft::js
