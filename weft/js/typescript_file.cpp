#include "weft/js/typescript_file.h"

#include <sstream>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/fiber/blocking.h"
#include "weft/js/import_attributes.h"
#include "weft/js/lexer.h"
#include "weft/js/module_url.h"
#include "weft/js/typescript.h"

namespace weft::js {
namespace {

// The value of "jsxImportSource". A tsconfig.json may have comments and trailing commas, which are
// not JSON, so the tokens are searched.
std::string jsx_module_in(const std::string& text) {
    std::vector<Token> tokens = all_tokens(text);
    auto text_of = [&](const Token& token) {
        return std::string_view(text).substr(token.begin, token.end - token.begin);
    };
    for (std::size_t at = 0; at + 2 < tokens.size(); ++at) {
        if (text_of(tokens[at]) == "\"jsxImportSource\"" && text_of(tokens[at + 1]) == ":")
            return string_value(text_of(tokens[at + 2]));
    }
    return {};
}

std::string jsx_module_for(ModuleFiles& files, const std::string& path) {
    for (std::string_view folder = folder_of(path);; folder = folder_of(folder)) {
        std::string config = join_path(folder, "tsconfig.json");
        if (files.kind(config) == ModuleFiles::Kind::File) {
            Result<std::string> text = files.read(config);
            return text ? jsx_module_in(*text) : std::string();
        }
        if (folder == "/") return {};
    }
}

// The text for people: the place, the line, a caret below it.
Error syntax_error(const std::string& path, const std::string& source,
                   const TypeScriptError& error) {
    WEFT_ASSERT(error.line >= 1 && error.column >= 1, "lines and columns count from 1");
    std::istringstream lines(source);
    std::string line;
    for (std::size_t at = 0; at < error.line; ++at) std::getline(lines, line);
    std::string text = format("{}:{}:{}\n{}\n", path, error.line, error.column, line);
    text += std::string(error.column - 1, ' ') + "^\nSyntaxError: " + error.message;
    return Error(ErrorKind::Other, text);
}

}  // namespace

bool is_typescript(std::string_view path) {
    return path.ends_with(".ts") || path.ends_with(".mts") || path.ends_with(".cts") ||
           path.ends_with(".tsx") || path.ends_with(".jsx");
}

Result<std::string> without_types(ModuleFiles& files, const std::string& path,
                                  const std::string& source) {
    TypeScriptOptions options;
    options.is_tsx = path.ends_with("x");
    if (options.is_tsx) {
        std::string module = jsx_module_for(files, path);
        if (!module.empty()) options.jsx_module = std::move(module);
    }
    // On a thread of the pool: nested texts need a deep stack, and long texts take long.
    Result<std::expected<std::string, TypeScriptError>> done =
        blocking([&] { return strip_types(source, options); });
    std::expected<std::string, TypeScriptError> stripped = WEFT_TRY(std::move(done));
    if (stripped) return std::move(*stripped);
    return syntax_error(path, source, stripped.error());
}

Result<std::string> without_attributes(const std::string& path, std::string source) {
    if (!may_have_import_attributes(source)) return source;
    std::expected<std::string, TypeScriptError> blanked = without_import_attributes(source);
    if (!blanked) return syntax_error(path, source, blanked.error());
    return std::move(*blanked);
}

}  // namespace weft::js
