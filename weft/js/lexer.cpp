#include "weft/js/lexer.h"

#include <algorithm>
#include <array>
#include <span>

namespace weft::js {
namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           byte == '$';
}

// Longest first. `<` and `>` are missing, see TokenKind::Punctuator.
constexpr std::array<std::string_view, 33> kPunctuators = {
    "...", "===", "!==", "**=", "&&=", "||=", "?\?=", "=>", "==", "!=", "**",
    "&&",  "||",  "??",  "?.",  "++",  "--",  "+=",   "-=", "*=", "/=", "%=",
    "&=",  "|=",  "^=",  "(",   ")",   "{",   "}",    "[",  "]",  ";",  ","};

// An expression begins after these words.
constexpr std::array<std::string_view, 16> kBeforeExpression = {
    "return", "typeof", "instanceof", "in",   "of",      "new",   "delete", "void",
    "throw",  "case",   "do",         "else", "default", "yield", "await",  "extends"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

}  // namespace

Lexer::Lexer(std::string_view source, std::size_t at) : source_(source), at_(at) {
    WEFT_ASSERT(source.size() <= UINT32_MAX, "the places of tokens have 32 bits");
    WEFT_ASSERT(at <= source.size(), "a scan begins in the text");
    if (at_ == 0 && source_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    if (at_ <= 3 && source_.substr(at_).starts_with("#!")) skip_line();
}

void Lexer::skip_line() {
    while (at_ < source_.size() && source_[at_] != '\n' && source_[at_] != '\r') ++at_;
}

// The size of a white-space character at this place that is not ASCII: a no-break space, BOM, line
// separator, or one of the spaces from U+2000 on. 0: there is none.
std::size_t Lexer::blank_bytes() const {
    std::string_view rest = source_.substr(at_, 3);
    if (rest.starts_with("\xC2\xA0")) return 2;
    if (rest == "\xEF\xBB\xBF" || rest == "\xE3\x80\x80") return 3;
    bool is_general = rest.size() == 3 && rest.starts_with("\xE2\x80");
    auto last = is_general ? static_cast<unsigned char>(rest[2]) : 0U;
    return is_general &&
                   ((last >= 0x80 && last <= 0x8A) || last == 0xA8 || last == 0xA9 || last == 0xAF)
               ? 3
               : 0;
}

bool Lexer::skip_comment() {
    std::size_t end = source_.find("*/", at_ + 2);
    std::size_t after = end == std::string_view::npos ? source_.size() : end + 2;
    bool newline = source_.substr(at_, after - at_).find('\n') != std::string_view::npos;
    at_ = after;
    return newline;
}

bool Lexer::skip_blanks() {
    bool newline = false;
    while (at_ < source_.size()) {
        char byte = source_[at_];
        if (byte == '\n' || byte == '\r') {
            newline = true;
            ++at_;
        } else if (byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f') {
            ++at_;
        } else if (source_.substr(at_).starts_with("//")) {
            skip_line();
        } else if (source_.substr(at_).starts_with("/*")) {
            newline |= skip_comment();
        } else if (std::size_t bytes = blank_bytes(); bytes != 0) {
            newline |= source_.substr(at_, 3) == "\xE2\x80\xA8";
            at_ += bytes;
        } else {
            break;
        }
    }
    return newline;
}

bool Lexer::is_name_byte(std::size_t at) const {
    if (at >= source_.size()) return false;
    char byte = source_[at];
    return is_letter(byte) || is_digit(byte) || byte == '\\' || (byte & 0x80) != 0;
}

void Lexer::scan_name() {
    while (is_name_byte(at_) && blank_bytes() == 0) {
        if (source_.substr(at_).starts_with("\\u{")) {
            at_ = std::min(source_.find('}', at_), source_.size() - 1);
        }
        ++at_;
    }
}

void Lexer::scan_number() {
    bool is_prefixed = source_[at_] == '0' && at_ + 1 < source_.size() &&
                       std::string_view("xXoObB").contains(source_[at_ + 1]);
    while (at_ < source_.size()) {
        char byte = source_[at_];
        bool is_sign = (byte == '+' || byte == '-') && !is_prefixed &&
                       (source_[at_ - 1] == 'e' || source_[at_ - 1] == 'E');
        if (!is_letter(byte) && !is_digit(byte) && byte != '.' && !is_sign) break;
        ++at_;
    }
}

void Lexer::scan_string(char quote) {
    ++at_;
    while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n') {
        // A backslash before a line end of two bytes continues the string as well.
        if (source_.substr(at_).starts_with("\\\r\n")) ++at_;
        at_ += source_[at_] == '\\' || source_[at_] == '\r' ? 2 : 1;
    }
    at_ = std::min(at_ + 1, source_.size());
}

// Called after the ` or the }.
TokenKind Lexer::scan_template() {
    while (at_ < source_.size()) {
        char byte = source_[at_];
        if (byte == '`') {
            ++at_;
            return TokenKind::Template;
        }
        if (source_.substr(at_).starts_with("${")) {
            at_ += 2;
            return TokenKind::TemplateOpened;
        }
        at_ += byte == '\\' ? 2 : 1;
    }
    at_ = source_.size();
    return TokenKind::Template;
}

void Lexer::scan_punctuator() {
    std::string_view rest = source_.substr(at_);
    // `a?.5:b` is a conditional expression.
    bool is_condition = rest.starts_with("?.") && rest.size() > 2 && is_digit(rest[2]);
    for (std::string_view punctuator : kPunctuators) {
        if (rest.starts_with(punctuator) && !is_condition) {
            at_ += punctuator.size();
            return;
        }
    }
    ++at_;
}

Token Lexer::scan() {
    Token token;
    token.after_newline = skip_blanks();
    token.begin = static_cast<std::uint32_t>(at_);
    if (at_ >= source_.size()) {
        token.end = token.begin;
        return token;
    }
    char byte = source_[at_];
    bool is_fraction = byte == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]);
    if (is_digit(byte) || is_fraction) {
        token.kind = TokenKind::Number;
        scan_number();
    } else if (is_name_byte(at_)) {
        token.kind = TokenKind::Name;
        scan_name();
    } else if (byte == '#' && is_name_byte(at_ + 1)) {
        token.kind = TokenKind::PrivateName;
        ++at_;
        scan_name();
    } else if (byte == '"' || byte == '\'') {
        token.kind = TokenKind::String;
        scan_string(byte);
    } else if (byte == '`') {
        ++at_;
        token.kind = scan_template();
    } else {
        token.kind = TokenKind::Punctuator;
        scan_punctuator();
    }
    WEFT_DASSERT(at_ <= source_.size(), "a token ends in the text");
    token.end = static_cast<std::uint32_t>(at_);
    WEFT_DASSERT(token.end > token.begin, "a token has a byte, so that a loop over tokens ends");
    return token;
}

Token Lexer::regexp(const Token& slash) {
    WEFT_DASSERT(source_[slash.begin] == '/', "a regular expression begins with a slash");
    at_ = slash.begin + 1;
    bool in_class = false;
    while (at_ < source_.size() && source_[at_] != '\n') {
        char byte = source_[at_];
        if (byte == '\\') {
            at_ += 2;
            continue;
        }
        ++at_;
        if (byte == '[') in_class = true;
        if (byte == ']') in_class = false;
        if (byte == '/' && !in_class) break;
    }
    at_ = std::min(at_, source_.size());
    while (is_name_byte(at_)) ++at_;  // flags
    WEFT_DASSERT(at_ >= slash.end && at_ <= source_.size(), "it has at least what was the slash");
    return {TokenKind::RegExp, slash.after_newline, slash.begin, static_cast<std::uint32_t>(at_)};
}

Token Lexer::template_rest(const Token& brace) {
    WEFT_DASSERT(source_[brace.begin] == '}', "the rest of a template begins with a brace");
    at_ = brace.begin + 1;
    TokenKind kind = scan_template();
    return {kind, brace.after_newline, brace.begin, static_cast<std::uint32_t>(at_)};
}

namespace {

// An open bracket, and whether an expression is complete when it is closed.
struct Open {
    char kind;  // ( [ { or $ for an expression in a template
    bool value_when_closed;
};

// Tells regular expressions and template parts by the tokens before them.
class TokenScanner {
public:
    explicit TokenScanner(std::string_view source) : lexer_(source) {}

    std::vector<Token> run() {
        for (Token token = lexer_.scan(); token.kind != TokenKind::End; token = lexer_.scan()) {
            std::string_view text = lexer_.text(token);
            if (token.kind == TokenKind::Punctuator) {
                if (text.starts_with('/') && !value_before_) {
                    token = lexer_.regexp(token);
                } else if (text == "}" && !open_.empty() && open_.back().kind == '$') {
                    open_.pop_back();
                    token = lexer_.template_rest(token);
                }
            }
            WEFT_DASSERT(tokens_.empty() || token.begin >= tokens_.back().end,
                         "tokens do not overlap");
            note(token);
            tokens_.push_back(token);
        }
        return std::move(tokens_);
    }

private:
    // Records whether the token ends a value: a slash after a value is a division.
    void note(const Token& token) {
        std::string_view text = lexer_.text(token);
        switch (token.kind) {
        case TokenKind::Name: note_name(text); break;
        case TokenKind::Punctuator: note_punctuator(text); break;
        case TokenKind::TemplateOpened:
            open_.push_back({'$', true});
            value_before_ = false;
            break;
        default: value_before_ = true; break;
        }
    }

    void note_name(std::string_view text) {
        bool is_property = !tokens_.empty() && (lexer_.text(tokens_.back()) == "." ||
                                                lexer_.text(tokens_.back()) == "?.");
        value_before_ = is_property || !is_one_of(text, kBeforeExpression);
    }

    void note_punctuator(std::string_view text) {
        if (text == "(" || text == "[") {
            std::string_view before = last();
            bool is_head =
                before == "if" || before == "while" || before == "for" || before == "with";
            open_.push_back({text[0], text == "[" || !is_head});
            value_before_ = false;
        } else if (text == "{") {
            open_.push_back({'{', begins_object()});
            value_before_ = false;
        } else if (text == ")" || text == "]" || text == "}") {
            value_before_ = text != "}";
            if (open_.empty()) return;
            value_before_ = open_.back().value_when_closed;
            open_.pop_back();
        } else {
            value_before_ = (text == "++" || text == "--") && value_before_;
        }
    }

    bool begins_object() const {
        if (tokens_.empty()) return false;
        std::string_view before = last();
        if (tokens_.back().kind == TokenKind::Name) {
            return !value_before_ && before != "else" && before != "do";
        }
        if (tokens_.back().kind != TokenKind::Punctuator) return false;
        return before != ")" && before != ";" && before != "{" && before != "}" && before != "=>";
    }

    std::string_view last() const {
        return tokens_.empty() ? std::string_view() : lexer_.text(tokens_.back());
    }

    Lexer lexer_;
    std::vector<Token> tokens_;
    std::vector<Open> open_;
    bool value_before_ = false;
};

}  // namespace

std::vector<Token> all_tokens(std::string_view source) { return TokenScanner(source).run(); }

std::string string_value(std::string_view literal) {
    std::string value;
    if (literal.size() < 2) return value;
    std::string_view inside = literal.substr(1, literal.size() - 2);
    for (std::size_t at = 0; at < inside.size(); ++at) {
        if (inside[at] != '\\' || at + 1 >= inside.size()) {
            value += inside[at];
            continue;
        }
        char escaped = inside[++at];
        constexpr std::string_view kLetters = "nrtbfv0";
        constexpr std::string_view kMeanings("\n\r\t\b\f\v\0", 7);
        std::size_t found = kLetters.find(escaped);
        value += found == std::string_view::npos ? escaped : kMeanings[found];
    }
    return value;
}

}  // namespace weft::js
