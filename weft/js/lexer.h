// Lexer: the tokens of a JavaScript or TypeScript text.
//
//     Lexer lexer(source);
//     for (Token token = lexer.scan(); token.kind != TokenKind::End; token = lexer.scan()) ...
//
// Only the grammar can tell whether a slash begins a regular expression, and whether a brace ends
// an expression in a template. A parser calls regexp() or template_rest() with such a token.
// all_tokens() decides by the tokens before, which is right for code that people write. There are
// no errors: a byte that begins no token is returned as a punctuator.
//
// A value that borrows its text, which has less than 4 GiB; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/assert.h"

namespace weft::js {

enum class TokenKind : std::uint8_t {
    End,
    Name,         // also keywords
    PrivateName,  // #name
    Number,
    String,
    Template,        // from ` or } to the closing `
    TemplateOpened,  // from ` or } to ${
    RegExp,
    Punctuator,  // the longest one; but each `<` and `>` is a token of its own, because of types
};

struct Token {
    TokenKind kind = TokenKind::End;
    bool after_newline = false;  // the line ended between this token and the one before
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

class Lexer {
public:
    explicit Lexer(std::string_view source, std::size_t at = 0);

    Token scan();
    // Scans again from a token that is a slash, or the brace behind an expression in a template.
    Token regexp(const Token& slash);
    Token template_rest(const Token& brace);

    std::string_view text(const Token& token) const {
        return source_.substr(token.begin, token.end - token.begin);
    }
    std::string_view source() const { return source_; }
    std::size_t position() const { return at_; }
    void move_to(std::size_t at) {
        WEFT_DASSERT(at <= source_.size(), "a scan goes on in the text");
        at_ = at;
    }

private:
    bool skip_blanks();  // white space and comments; whether a line ended there
    std::size_t blank_bytes() const;
    void skip_line();
    bool skip_comment();
    void scan_string(char quote);
    TokenKind scan_template();
    void scan_number();
    void scan_name();
    void scan_punctuator();
    bool is_name_byte(std::size_t at) const;

    std::string_view source_;
    std::size_t at_ = 0;
};

// All tokens of a text, without the End.
std::vector<Token> all_tokens(std::string_view source);

// The value of a string token without its quotes. Escapes of one character are replaced; \x, \u and
// octal escapes are not.
std::string string_value(std::string_view literal);

}  // namespace weft::js
