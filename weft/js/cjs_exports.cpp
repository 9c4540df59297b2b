#include "weft/js/cjs_exports.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "weft/base/assert.h"
#include "weft/js/lexer.h"

namespace weft::js {
namespace {

class Scanner {
public:
    explicit Scanner(std::string_view source) : source_(source), tokens_(all_tokens(source)) {}

    CjsExports exports() {
        for (at_ = 0; at_ < tokens_.size();) {
            std::size_t before = at_;
            step();
            WEFT_DASSERT(at_ >= before, "a step never goes back, so that the loop ends");
            if (at_ == before) ++at_;
        }
        return std::move(found_);
    }

    bool is_module() const {
        int depth = 0;
        for (std::size_t at = 0; at < tokens_.size(); ++at) {
            std::string_view text = text_at(at);
            if (text == "{" || text == "(" || text == "[" || opens_template(at)) ++depth;
            if (text == "}" || text == ")" || text == "]" || closes_template(at)) --depth;
            if (tokens_[at].kind != TokenKind::Name || is_property(at)) continue;
            if (text == "import" && text_at(at + 1) == "." && text_at(at + 2) == "meta")
                return true;
            if (depth != 0 || !begins_statement(at)) continue;
            if (text == "import" && text_at(at + 1) != "(" && text_at(at + 1) != ".") return true;
            if (text == "export" && begins_export(at + 1)) return true;
        }
        return false;
    }

private:
    std::string_view text_at(std::size_t at) const {
        if (at >= tokens_.size()) return {};
        return source_.substr(tokens_[at].begin, tokens_[at].end - tokens_[at].begin);
    }
    TokenKind kind_at(std::size_t at) const {
        return at < tokens_.size() ? tokens_[at].kind : TokenKind::End;
    }
    bool is_property(std::size_t at) const {
        return at > 0 && (text_at(at - 1) == "." || text_at(at - 1) == "?.");
    }
    bool opens_template(std::size_t at) const {
        return kind_at(at) == TokenKind::TemplateOpened && text_at(at).starts_with('`');
    }
    bool closes_template(std::size_t at) const {
        return kind_at(at) == TokenKind::Template && text_at(at).starts_with('}');
    }
    bool begins_statement(std::size_t at) const {
        return at == 0 || tokens_[at].after_newline || text_at(at - 1) == ";" ||
               text_at(at - 1) == "}";
    }
    bool begins_export(std::size_t at) const {
        std::string_view text = text_at(at);
        for (std::string_view word :
             {"{", "*", "default", "const", "let", "var", "function", "class", "async"})
            if (text == word) return true;
        return false;
    }

    // If the next tokens are these, moves behind them.
    bool take(std::initializer_list<std::string_view> texts) {
        std::size_t at = at_;
        for (std::string_view text : texts)
            if (text_at(at++) != text) return false;
        at_ = at;
        return true;
    }

    void step() {
        if (kind_at(at_) != TokenKind::Name || is_property(at_)) {
            // TypeScript's helper is a property: tslib_1.__exportStar(require("x"), exports).
            if (kind_at(at_) == TokenKind::Name && text_at(at_) == "__exportStar") export_star();
            return;
        }
        std::string_view text = text_at(at_);
        if (text == "module") {
            if (take({"module", ".", "exports"})) after_exports(true);
        } else if (text == "exports") {
            ++at_;
            after_exports(false);
        } else if (text == "Object") {
            object_call();
        } else if (text == "__export" || text == "__exportStar") {
            export_star();
        } else if (text == "var" || text == "let" || text == "const") {
            required_variable();
        }
    }

    void add(std::string name) {
        if (std::ranges::find(found_.names, name) == found_.names.end())
            found_.names.push_back(std::move(name));
    }
    void add_reexport(std::string specifier) {
        if (std::ranges::find(found_.reexports, specifier) == found_.reexports.end())
            found_.reexports.push_back(std::move(specifier));
    }

    // Takes require("x") and returns the specifier; otherwise returns an empty text.
    std::string take_require() {
        if (text_at(at_) != "require" || text_at(at_ + 1) != "(" ||
            kind_at(at_ + 2) != TokenKind::String || text_at(at_ + 3) != ")")
            return {};
        std::string specifier = string_value(text_at(at_ + 2));
        at_ += 4;
        return specifier;
    }

    // Behind `exports` or `module.exports`.
    void after_exports(bool is_whole) {
        if (text_at(at_) == "." && kind_at(at_ + 1) == TokenKind::Name && text_at(at_ + 2) == "=") {
            add(std::string(text_at(at_ + 1)));
            at_ += 3;
        } else if (text_at(at_) == "[" && kind_at(at_ + 1) == TokenKind::String &&
                   text_at(at_ + 2) == "]" && text_at(at_ + 3) == "=") {
            add(string_value(text_at(at_ + 1)));
            at_ += 4;
        } else if (is_whole && take({"="})) {
            found_.reexports.clear();
            // The next step finds `module.exports = exports = ...` and `= exports["default"]`.
            if (take({"{"})) return literal();
            if (std::string specifier = take_require(); !specifier.empty())
                add_reexport(std::move(specifier));
        }
    }

    // The members of `module.exports = {`, up to the first whose name is not in the text.
    void literal() {
        while (at_ < tokens_.size()) {
            if (take({"..."})) {
                std::string specifier = take_require();
                if (!specifier.empty())
                    add_reexport(std::move(specifier));
                else if (kind_at(at_) == TokenKind::Name)
                    ++at_;
                else
                    return;
            } else if (kind_at(at_) == TokenKind::Name || kind_at(at_) == TokenKind::String) {
                if (!member()) return;
            } else {
                return;
            }
            if (!take({","})) return;
        }
    }

    bool member() {
        bool is_name = kind_at(at_) == TokenKind::Name;
        std::string name = is_name ? std::string(text_at(at_)) : string_value(text_at(at_));
        std::string_view after = text_at(at_ + 1);
        if (after == ":") {
            at_ += 2;
            // Only after a plain name is it known where the next member begins.
            if (kind_at(at_) != TokenKind::Name) return false;
            add(std::move(name));
            ++at_;
            return text_at(at_) == "," || text_at(at_) == "}";
        }
        if (!is_name || (after != "," && after != "}")) return false;
        add(std::move(name));
        ++at_;
        return true;
    }

    void export_star() {
        ++at_;
        if (!take({"("})) return;
        if (std::string specifier = take_require(); !specifier.empty())
            add_reexport(std::move(specifier));
    }

    // var x = require("x"), also as the argument of _interopRequireWildcard() and similar helpers.
    void required_variable() {
        ++at_;
        if (kind_at(at_) != TokenKind::Name || text_at(at_ + 1) != "=") return;
        std::string name(text_at(at_));
        std::size_t back = at_ += 2;
        if (kind_at(at_) == TokenKind::Name && text_at(at_ + 1) == "(" &&
            text_at(at_ + 2) == "require")
            at_ += 2;
        std::string specifier = take_require();
        if (specifier.empty())
            at_ = back;
        else
            required_[std::move(name)] = std::move(specifier);
    }

    void object_call() {
        if (take({"Object", ".", "defineProperty", "("})) return define_property();
        if (!take({"Object", ".", "keys", "("})) return;
        // Object.keys(_x).forEach(function (k) { if (k === "default" ...) return; exports[k] = ...
        std::string name(text_at(at_));
        ++at_;
        if (!take({")", ".", "forEach", "(", "function", "("})) return;
        ++at_;
        if (!take({")", "{", "if", "("})) return;
        ++at_;
        bool compares = take({"==="}) || take({"!=="});
        if (!compares || string_value(text_at(at_)) != "default") return;
        if (auto required = required_.find(name); required != required_.end())
            add_reexport(required->second);
    }

    void define_property() {
        if (!take({"exports", ","}) && !take({"module", ".", "exports", ","})) return;
        if (kind_at(at_) != TokenKind::String || text_at(at_ + 1) != "," || text_at(at_ + 2) != "{")
            return;
        std::string name = string_value(text_at(at_));
        at_ += 3;
        if (take({"enumerable", ":"})) {
            if (!take({"true", ","}) && !take({"!", "0", ","})) return;
        }
        if (take({"value", ":"}) || is_getter()) add(std::move(name));
    }

    // A getter that only returns a variable or its property, so calling it has no effect.
    bool is_getter() {
        if (!take({"get"})) return false;
        if (take({":", "function"}) && kind_at(at_) == TokenKind::Name) ++at_;
        if (!take({"(", ")", "{", "return"}) || kind_at(at_) != TokenKind::Name) return false;
        ++at_;
        if (text_at(at_) == "." && kind_at(at_ + 1) == TokenKind::Name)
            at_ += 2;
        else if (text_at(at_) == "[" && kind_at(at_ + 1) == TokenKind::String)
            at_ += 3;
        take({";"});
        return take({"}"});
    }

    std::string_view source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    CjsExports found_;
    std::unordered_map<std::string, std::string> required_;
};

}  // namespace

CjsExports find_cjs_exports(std::string_view source) { return Scanner(source).exports(); }

bool has_module_syntax(std::string_view source) {
    // Most files contain neither word, so they need not be split into tokens.
    if (!source.contains("import") && !source.contains("export")) return false;
    return Scanner(source).is_module();
}

}  // namespace weft::js
