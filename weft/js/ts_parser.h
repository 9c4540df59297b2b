// TsParser: parses a TypeScript text and collects the edits that turn it into JavaScript.
//
// It builds no tree. There is a function for each production of the grammar, which moves to the end
// of that production, or returns false if the text does not match; `attempt` tries one and goes
// back. Only what distinguishes types from values is parsed exactly; the engine reports all other
// syntax errors.
//
// Its functions are in ts_statements.cpp, ts_imports.cpp, ts_classes.cpp, ts_expressions.cpp,
// ts_jsx.cpp and ts_types.cpp. One parser parses one text, once; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/js/lexer.h"

namespace weft::js {

// Replaces a part of the text by `text`, or by blanks. Line ends in that part are kept.
struct TsEdit {
    std::size_t begin;
    std::size_t end;
    std::string text;
    bool is_blank;
};

class TsParser {
public:
    enum class Jsx : std::uint8_t { No, Yes };
    TsParser(std::string_view source, Jsx jsx);

    bool program();
    const std::vector<TsEdit>& edits() const { return edits_; }
    const std::string& error() const { return error_; }
    std::size_t error_at() const { return error_at_; }
    bool has_jsx() const { return has_jsx_; }

private:
    struct Parameters {
        std::vector<std::string> properties;  // the parameter properties of a constructor
    };
    struct ImportedName {
        std::string local;
        std::size_t begin;
        std::size_t end;        // including the comma behind it
        bool is_whole = false;  // `* as name`
    };
    struct Import {
        std::size_t begin;
        std::size_t end;
        std::vector<ImportedName> names;
    };
    struct Mark {
        std::size_t position;
        std::size_t previous_end;
        Token token;
        std::size_t edits;
        std::size_t imports;
    };

    // Counts the depth of the recursion, which is limited because of the stack.
    class Level {
    public:
        explicit Level(std::size_t& depth) : depth_(depth) { ++depth_; }
        ~Level() {
            WEFT_DASSERT(depth_ > 0, "levels are left in the reverse order");
            --depth_;
        }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        bool is_too_deep() const { return depth_ > kDepthMax; }

    private:
        static constexpr std::size_t kDepthMax = 400;
        std::size_t& depth_;
    };

    // ---- tokens
    std::string_view text() const { return lexer_.text(token_); }
    bool is(std::string_view wanted) const { return is_plain() && text() == wanted; }
    bool is_plain() const;
    bool is_name() const { return token_.kind == TokenKind::Name; }
    bool is_one_of(std::initializer_list<std::string_view> words) const;
    bool at_end() const { return token_.kind == TokenKind::End; }
    void advance();
    bool take(std::string_view wanted);
    bool expect(std::string_view wanted);
    bool fail(std::string message);
    Token peek();
    std::string_view peek_text() { return lexer_.text(peek()); }
    void blank(std::size_t begin, std::size_t end);
    void blank_here();  // this token, and advances
    void replace(std::size_t begin, std::size_t end, std::string text);
    void insert(std::size_t at, std::string text) { replace(at, at, std::move(text)); }
    // From there to the end of the token before this one; drops all edits within.
    void blank_statement(std::size_t begin);
    Mark mark() const;
    void reset(const Mark& mark);
    template <class Try>
    bool attempt(Try part);
    bool semicolon();
    bool skip_balanced();
    void drop_unused_imports();

    // ---- statements
    bool statement();
    bool statement_by_word();
    bool block();
    bool control();
    bool for_head();
    bool try_statement();
    bool switch_statement();
    bool variables(bool in_for);
    bool function_statement(std::size_t begin);
    bool type_alias(std::size_t begin);
    bool interface(std::size_t begin);
    bool enumeration(std::size_t begin, bool is_exported);
    bool enum_member(const std::string& name, std::vector<std::string>& members,
                     std::string& next_value);
    bool enum_value(const std::string& name, const std::vector<std::string>& members);
    bool name_space(std::size_t begin);
    bool declared(std::size_t begin);
    bool import_statement();
    bool import_clause(Import& import);
    bool import_equals(std::size_t begin, bool is_exported);
    bool export_statement();
    bool export_default(std::size_t begin);
    bool export_names(std::size_t begin);
    bool import_names(std::vector<ImportedName>& names, bool is_export);
    bool type_statement(std::size_t begin, bool& was_one);
    bool from_clause();

    // ---- functions and classes
    bool function(bool& has_body);
    bool parameters(Parameters* found);
    bool parameter(Parameters* found);
    bool binding();
    bool binding_object();
    bool binding_array();
    bool return_type();
    bool optional_type();
    bool type_parameters();
    bool class_definition();
    bool class_heritage();
    bool class_body();
    bool class_member();
    bool class_modifiers(bool& is_absent);
    bool type_after_index();
    bool member_rest(std::size_t begin, bool is_absent, bool is_constructor);
    bool method(std::size_t begin, bool is_absent, bool is_constructor);
    void write_properties(const Parameters& found, std::size_t body);
    bool member_key();
    bool decorators();

    // ---- expressions
    bool expression(bool no_in = false);
    bool assignment(bool no_in = false);
    bool operators(bool no_in);
    bool is_binary_operator(bool no_in) const;
    void take_operator();
    bool arrow_function();
    bool arrow_rest();
    bool conditional();
    bool unary();
    bool postfix();
    bool postfix_step(bool& more);
    bool primary();
    bool primary_name();
    bool type_arguments_in_expression();
    bool arguments();
    bool array_literal();
    bool object_literal();
    bool object_member();
    bool template_literal();

    // ---- JSX
    bool jsx_element();
    bool jsx_from(std::size_t& at);
    bool jsx_attributes(std::size_t& at, bool& is_empty);
    bool jsx_attribute(std::size_t& at);
    bool jsx_container(std::size_t& at, std::string_view behind);
    bool jsx_children(std::size_t& at, std::size_t& count, const std::string& name);
    bool jsx_fail(std::size_t at, std::string message);
    std::size_t skip_jsx_blanks(std::size_t at) const;
    void go_to(std::size_t at);

    // ---- types
    bool type();
    bool type_operand();
    bool type_primary();
    bool type_name();
    bool type_arguments();
    bool function_type();
    bool union_type();
    bool annotation();  // a colon and a type, blanked

    Jsx jsx_;
    bool has_jsx_ = false;
    Lexer lexer_;
    Token token_;
    std::size_t previous_end_ = 0;
    std::vector<TsEdit> edits_;
    std::vector<Import> imports_;
    std::vector<ImportedName> exports_;      // of `export { a }`
    std::unordered_set<std::string> used_;   // names that are used as values
    std::unordered_set<std::string> types_;  // names of types that this file declares
    std::string error_;
    std::size_t error_at_ = 0;
    std::size_t super_end_ = 0;  // of the first super() in a constructor
    bool has_heritage_ = false;  // the enclosing class has an `extends` clause
    bool in_heritage_ = false;   // inside of such a clause
    bool in_condition_ = false;  // between `?` and `:`
    bool no_conditional_type_ = false;
    std::size_t values_ = 0;  // the number of statements that are not only types
    std::size_t depth_ = 0;
};

template <class Try>
bool TsParser::attempt(Try part) {
    Mark start = mark();
    if (part()) return true;
    reset(start);
    return false;
}

}  // namespace weft::js
