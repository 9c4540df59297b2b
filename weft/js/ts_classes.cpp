// Functions and classes of TypeScript.
#include "weft/js/ts_parser.h"

namespace weft::js {

// From `async` or `function` on. Without a body it is an overload signature.
bool TsParser::function(bool& has_body) {
    take("async");
    if (!expect("function")) return false;
    take("*");
    if (is_name()) advance();
    if (!type_parameters() || !parameters(nullptr) || !return_type()) return false;
    has_body = is("{");
    bool condition = std::exchange(in_condition_, false);
    bool good = !has_body || block();
    in_condition_ = condition;
    return good;
}

bool TsParser::parameters(Parameters* found) {
    if (!expect("(")) return false;
    bool condition = std::exchange(in_condition_, false);
    bool good = true;
    while (good && !is(")")) {
        good = parameter(found);
        if (good && !take(",")) break;
    }
    in_condition_ = condition;
    return good && expect(")");
}

bool TsParser::parameter(Parameters* found) {
    if (is("@") && !decorators()) return false;
    if (is("this")) {
        // This declares the type of `this`, and is no parameter.
        std::size_t begin = token_.begin;
        advance();
        if (!optional_type()) return false;
        blank(begin, is(",") ? token_.end : previous_end_);
        return true;
    }
    bool is_property = false;
    while (is_one_of({"public", "private", "protected", "readonly", "override"}) &&
           (peek().kind == TokenKind::Name || peek_text() == "{" || peek_text() == "[")) {
        is_property = true;
        blank_here();
    }
    if (is_property && found && is_name()) found->properties.emplace_back(text());
    take("...");
    if (!binding()) return false;
    if (is("?")) blank_here();
    return optional_type() && (!take("=") || assignment());
}

bool TsParser::binding() {
    if (is("{")) return binding_object();
    if (is("[")) return binding_array();
    if (!is_name()) return fail("a name was expected");
    advance();
    return true;
}

bool TsParser::binding_object() {
    advance();
    while (!is("}")) {
        if (take("...")) {
            if (!binding()) return false;
        } else {
            if (!member_key()) return false;
            if (take(":") && !binding()) return false;
            if (take("=") && !assignment()) return false;
        }
        if (!take(",")) break;
    }
    return expect("}");
}

bool TsParser::binding_array() {
    advance();
    while (!is("]")) {
        if (take(",")) continue;
        take("...");
        if (!binding() || (take("=") && !assignment())) return false;
        if (!is("]") && !expect(",")) return false;
    }
    return expect("]");
}

bool TsParser::decorators() {
    while (take("@")) {
        if (is("(")) {
            if (!primary()) return false;
            continue;
        }
        if (is_name()) used_.insert(std::string(text()));
        advance();
        while (take(".")) advance();
        if (is("<") && !attempt([&] { return type_arguments_in_expression(); })) return false;
        if (is("(") && !arguments()) return false;
    }
    return true;
}

bool TsParser::class_definition() {
    if (!expect("class")) return false;
    bool outer = std::exchange(has_heritage_, false);
    bool condition = std::exchange(in_condition_, false);
    if (is_name() && !is("extends") && !is("implements")) advance();
    bool good = type_parameters() && class_heritage() && class_body();
    has_heritage_ = outer;
    in_condition_ = condition;
    return good;
}

bool TsParser::class_heritage() {
    if (take("extends")) {
        has_heritage_ = true;
        bool outer = std::exchange(in_heritage_, true);
        bool good = postfix();
        in_heritage_ = outer;
        if (!good) return false;
    }
    if (!is("implements")) return true;
    std::size_t begin = token_.begin;
    advance();
    do {
        if (!type_name()) return false;
    } while (take(","));
    blank(begin, previous_end_);
    return true;
}

bool TsParser::class_body() {
    if (!expect("{")) return false;
    while (!take("}")) {
        if (at_end()) return fail("a class is not closed");
        if (take(";")) continue;
        if (!class_member()) return false;
    }
    return true;
}

bool TsParser::class_member() {
    std::size_t begin = token_.begin;
    if (is("@") && !decorators()) return false;
    bool is_absent = false;
    if (!class_modifiers(is_absent)) return false;
    if (is("{")) return block();  // static { ... }
    bool is_generator = take("*");
    // [key: string]: T is an index signature, which declares no member.
    if (is("[") && !is_generator) {
        bool is_index = attempt([&] {
            advance();
            if (!is_name()) return false;
            advance();
            return is(":") && type_after_index();
        });
        if (is_index) {
            blank_statement(begin);
            return true;
        }
    }
    bool is_constructor = is("constructor") && peek_text() == "(";
    if (!member_key()) return false;
    return member_rest(begin, is_absent, is_constructor);
}

bool TsParser::type_after_index() {
    advance();
    return type() && expect("]") && expect(":") && type() && semicolon();
}

// A word is a modifier only if the name of a member or another modifier follows.
bool TsParser::class_modifiers(bool& is_absent) {
    while (is_one_of({"public", "private", "protected", "static", "abstract", "override",
                      "readonly", "declare", "accessor", "async", "get", "set"})) {
        Token next = peek();
        std::string_view after = lexer_.text(next);
        bool is_key =
            next.kind == TokenKind::Punctuator &&
            (after == "(" || after == "=" || after == ";" || after == ":" || after == "?" ||
             after == "!" || after == "}" || after == "<" || after == ",");
        if (is_key || next.kind == TokenKind::End) break;
        bool is_plain_word = is_one_of({"static", "accessor", "async", "get", "set"});
        if (is_plain_word && next.after_newline && !is("static")) break;
        if (is_plain_word) {
            advance();
            continue;
        }
        is_absent |= is("abstract") || is("declare");
        // The member before may have no semicolon, so that `[` or `*` would continue it.
        bool joins = after == "[" || after == "*";
        if (joins && token_.after_newline) {
            replace(token_.begin, token_.begin + 1, ";");
            blank(token_.begin + 1, token_.end);
            advance();
        } else {
            blank_here();
        }
    }
    return true;
}

bool TsParser::member_key() {
    if (is("[")) {
        advance();
        return assignment() && expect("]");
    }
    bool is_key = is_name() || token_.kind == TokenKind::String ||
                  token_.kind == TokenKind::Number || token_.kind == TokenKind::PrivateName;
    if (!is_key) return fail("the name of a member was expected");
    advance();
    return true;
}

bool TsParser::member_rest(std::size_t begin, bool is_absent, bool is_constructor) {
    if (is("?") || (is("!") && !token_.after_newline)) blank_here();
    if (is("(") || is("<")) return method(begin, is_absent, is_constructor);
    if (!optional_type()) return false;
    if (take("=") && !assignment()) return false;
    if (!semicolon()) return false;
    if (is_absent) blank_statement(begin);
    return true;
}

bool TsParser::method(std::size_t begin, bool is_absent, bool is_constructor) {
    Parameters found;
    if (!type_parameters() || !parameters(is_constructor ? &found : nullptr) || !return_type())
        return false;
    if (!is("{")) {
        if (!semicolon()) return false;
        blank_statement(begin);
        return true;
    }
    std::size_t body = token_.begin;
    std::size_t outer = std::exchange(super_end_, 0);
    bool good = block();
    if (good && !found.properties.empty()) write_properties(found, body);
    super_end_ = outer;
    if (good && is_absent) blank_statement(begin);
    return good;
}

// Assigns the parameter properties: after super() if there is one, because `this` does not exist
// before; else at the beginning of the body.
void TsParser::write_properties(const Parameters& found, std::size_t body) {
    bool is_derived = has_heritage_ && super_end_ != 0;
    std::string assignments;
    for (const std::string& name : found.properties) {
        assignments += is_derived ? "; " : " ";
        assignments += "this." + name + " = " + name;
        if (!is_derived) assignments += ";";
    }
    insert(is_derived ? super_end_ : body + 1, std::move(assignments));
}

}  // namespace weft::js
