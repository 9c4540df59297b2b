#include "weft/js/typescript.h"

#include <algorithm>
#include <vector>

#include "weft/base/assert.h"
#include "weft/js/ts_parser.h"

namespace weft::js {
namespace {

// A blank for each UTF-16 unit, which V8 counts as a column. Line ends are kept.
void append_blanks(std::string& out, std::string_view text) {
    for (char byte : text) {
        auto unit = static_cast<unsigned char>(byte);
        if (byte == '\n' || byte == '\r') {
            out += byte;
        } else if (unit < 0x80 || (unit >= 0xC0 && unit < 0xF0)) {
            out += ' ';
        } else if (unit >= 0xF0) {
            out += "  ";
        }
    }
}

void append_edit(std::string& out, std::string_view source, const TsEdit& edit) {
    std::string_view old = source.substr(edit.begin, edit.end - edit.begin);
    if (edit.is_blank) return append_blanks(out, old);
    out += edit.text;
    for (char byte : old)
        if (byte == '\n') out += byte;
}

std::string applied(std::string_view source, std::vector<TsEdit> edits) {
    std::ranges::stable_sort(edits, {}, &TsEdit::begin);
    std::string out;
    out.reserve(source.size() + source.size() / 16);
    std::size_t at = 0;
    for (const TsEdit& edit : edits) {
        WEFT_ASSERT(edit.begin <= edit.end && edit.end <= source.size(), "an edit is in the text");
        if (edit.begin < at) continue;  // inside of an earlier edit
        out += source.substr(at, edit.begin - at);
        append_edit(out, source, edit);
        at = edit.end;
    }
    out += source.substr(at);
    return out;
}

std::string jsx_module(std::string_view source, const TypeScriptOptions& options) {
    constexpr std::string_view kPragma = "@jsxImportSource ";
    std::size_t found = source.find(kPragma);
    if (found == std::string_view::npos) return options.jsx_module;
    std::string_view rest = source.substr(found + kPragma.size());
    return std::string(rest.substr(0, rest.find_first_of(" \t\r\n*")));
}

TypeScriptError error_at(std::string_view source, std::size_t at, std::string message) {
    WEFT_ASSERT(at <= source.size(), "an error is at a place in the text");
    std::string_view before = source.substr(0, at);
    std::size_t line_begin = before.rfind('\n') + 1;
    return {static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1, at - line_begin + 1,
            std::move(message)};
}

}  // namespace

std::expected<std::string, TypeScriptError> strip_types(std::string_view source,
                                                        const TypeScriptOptions& options) {
    TsParser parser(source, options.is_tsx ? TsParser::Jsx::Yes : TsParser::Jsx::No);
    if (!parser.program())
        return std::unexpected(error_at(source, parser.error_at(), parser.error()));
    std::string text = applied(source, parser.edits());
    // An import is valid anywhere in a module; at the end it moves no other line.
    if (parser.has_jsx()) {
        text += "\nimport { jsx as _jsx, jsxs as _jsxs, Fragment as _Fragment } from \"" +
                jsx_module(source, options) + "/jsx-runtime\";\n";
    }
    return text;
}

}  // namespace weft::js
