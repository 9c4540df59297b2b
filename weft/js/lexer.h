// Lexer: the tokens of a JavaScript or TypeScript text.
//
//     Lexer lexer(source);
//     for (Token token = lexer.scan(); token.kind != TokenKind::End; token = lexer.scan()) ...
//
// Whether a slash begins a regular expression, and a brace ends a part of a template, only the
// grammar can tell: whoever knows asks for regexp() or template_rest() after the token came.
// all_tokens() guesses by the tokens before, which is right for all that people write. Nothing is
// refused here: what is no token at all comes as a punctuator of one byte.
//
// A value that borrows its text; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
    Punctuator,  // as long as it can be; but `<` and `>` come one by one, for the sake of types
};

struct Token {
    TokenKind kind = TokenKind::End;
    bool after_newline = false;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

class Lexer {
public:
    explicit Lexer(std::string_view source, std::size_t at = 0);

    Token scan();
    // Reads on from a token that was a slash, or the brace behind an expression in a template.
    Token regexp(const Token& slash);
    Token template_rest(const Token& brace);

    std::string_view text(const Token& token) const {
        return source_.substr(token.begin, token.end - token.begin);
    }
    std::string_view source() const { return source_; }
    std::size_t position() const { return at_; }
    void move_to(std::size_t at) { at_ = at; }

private:
    bool skip_blanks();  // whether a line ended there
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

std::vector<Token> all_tokens(std::string_view source);

// The value of a string token, without its quotes; escapes that people write in names are known.
std::string string_value(std::string_view literal);

}  // namespace weft::js
