// Imports and exports of TypeScript.
#include "weft/js/ts_parser.h"

namespace weft::js {

// from "x" with { ... };
bool TsParser::from_clause() {
    if (!expect("from")) return false;
    if (token_.kind != TokenKind::String) return fail("the name of a module was expected");
    advance();
    bool has_attributes = is("with") || (is("assert") && !token_.after_newline);
    if (has_attributes) {
        advance();
        if (!skip_balanced()) return false;
    }
    return semicolon();
}

bool TsParser::import_statement() {
    std::size_t begin = token_.begin;
    advance();
    if (token_.kind == TokenKind::String) {
        advance();
        if (take("with") && !skip_balanced()) return false;
        return semicolon();
    }
    Token next = peek();
    std::string_view after = lexer_.text(next);
    bool is_type = is("type") && (after == "{" || after == "*" ||
                                  (next.kind == TokenKind::Name && after != "from"));
    if (is_type) {
        advance();
        if (is_name() && peek_text() == "=") {
            if (!import_equals(begin, false)) return false;
            blank_statement(begin);
            return true;
        }
        while (!at_end() && token_.kind != TokenKind::String) advance();
        advance();
        if (take("with") && !skip_balanced()) return false;
        if (!semicolon()) return false;
        blank_statement(begin);
        return true;
    }
    if (is_name() && after == "=") return import_equals(begin, false);
    Import import{begin, begin, {}};
    if (!import_clause(import) || !from_clause()) return false;
    import.end = previous_end_;
    imports_.push_back(std::move(import));
    return true;
}

bool TsParser::import_clause(Import& import) {
    if (is_name()) {
        ImportedName name{std::string(text()), token_.begin, token_.end};
        advance();
        if (take(",")) name.end = previous_end_;
        import.names.push_back(std::move(name));
        if (is("from")) return true;
    }
    if (is("*")) {
        std::size_t begin = token_.begin;
        advance();
        if (!expect("as") || !is_name()) return false;
        import.names.push_back({std::string(text()), begin, token_.end, true});
        advance();
        return true;
    }
    return import_names(import.names, false);
}

// { a, type B, c as d }. An import's names are recorded by their local names, an export's by the
// names that it exports from this file.
bool TsParser::import_names(std::vector<ImportedName>& names, bool is_export) {
    if (!expect("{")) return false;
    while (!is("}")) {
        ImportedName name{{}, token_.begin, token_.end};
        std::string_view after = peek_text();
        bool is_type = is("type") && after != "," && after != "}" && after != "as";
        if (is_type) advance();
        std::string first(text());
        advance();
        std::string last = first;
        if (take("as")) {
            last = text();
            advance();
        }
        take(",");
        name.end = previous_end_;
        if (is_type)
            blank(name.begin, name.end);
        else
            name.local = is_export ? first : last;
        if (!is_type) names.push_back(std::move(name));
        if (at_end()) return fail("a list of names is not closed");
    }
    return expect("}");
}

// import x = require("y"), import x = A.B
bool TsParser::import_equals(std::size_t begin, bool is_exported) {
    std::string name(text());
    ++values_;
    replace(begin, token_.begin, is_exported ? "export const " : "const ");
    advance();
    advance();
    return expression() && semicolon();
}

bool TsParser::export_statement() {
    std::size_t begin = token_.begin;
    advance();
    Token next = peek();
    std::string_view after = lexer_.text(next);
    if (is("type") && (after == "{" || after == "*")) {
        while (!at_end() && !is("}") && token_.kind != TokenKind::String) advance();
        advance();
        if (is("from") && !from_clause()) return false;
        take(";");
        blank_statement(begin);
        return true;
    }
    if (is("enum") || (is("const") && after == "enum")) return enumeration(begin, true);
    bool was_type = false;
    if (is_name() && !type_statement(begin, was_type)) return false;
    if (was_type) {
        --values_;  // It was counted as a statement that exports a value.
        return true;
    }
    if (take("import")) return import_equals(begin, true);
    if (is("=")) return fail("\"export =\" is CommonJS: write \"export default\"");
    if (is("as")) {
        while (!is(";") && !at_end() && !token_.after_newline) advance();
        blank_statement(begin);
        return true;
    }
    if (is("default")) return export_default(begin);
    if (take("*")) {
        if (take("as")) advance();
        return from_clause();
    }
    if (is("{")) return export_names(begin);
    if (is("function") || is("async")) return function_statement(begin);
    return statement();
}

bool TsParser::export_default(std::size_t begin) {
    advance();
    if (is("interface") && peek().kind == TokenKind::Name) return interface(begin);
    if (is("abstract") && peek_text() == "class") blank_here();
    if (is("function") || (is("async") && peek_text() == "function"))
        return function_statement(begin);
    if (is("class")) return class_definition();
    if (is("@")) return decorators() && class_definition();
    return assignment() && semicolon();
}

bool TsParser::export_names(std::size_t begin) {
    std::vector<ImportedName> names;
    if (!import_names(names, true)) return false;
    if (is("from")) {
        if (!from_clause()) return false;
        if (names.empty()) blank_statement(begin);  // All of them were types.
        return true;
    }
    for (ImportedName& name : names) {
        used_.insert(name.local);
        exports_.push_back(std::move(name));
    }
    return semicolon();
}

}  // namespace weft::js
