#include "weft/app/evaluation.h"

#include <nlohmann/json.hpp>

namespace weft::app {
namespace {

// The text is compiled as an expression, which may contain `await`; else as a script, whose last
// expression is its value; else, if it has statements with `await`, as the body of an async
// function.
constexpr std::string_view kEvaluate = R"js(;
const AsyncFunction = (async () => {}).constructor;
const compiled = (make) => {
  try {
    return make();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};
const expression = compiled(() => new AsyncFunction(`return (${source}\n)`));
let value;
if (expression !== undefined) {
  value = await expression();
} else if (compiled(() => new Function(source)) !== undefined) {
  value = (0, eval)(source);
} else {
  value = await new AsyncFunction(source)();
}
if (value !== undefined) console.log(value);
)js";

bool is_word(std::string_view line, std::string_view word) {
    if (!line.starts_with(word)) return false;
    line.remove_prefix(word.size());
    std::size_t next = line.find_first_not_of(" \t");
    // import("...") and import.meta are expressions.
    return next != std::string_view::npos && line[next] != '(' && line[next] != '.' &&
           (next > 0 || line[next] == '{' || line[next] == '"' || line[next] == '\'' ||
            line[next] == '*');
}

bool is_module(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        std::string_view rest = text.substr(at);
        std::size_t begin = rest.find_first_not_of(" \t;");
        if (begin != std::string_view::npos) {
            std::string_view line = rest.substr(begin);
            if (is_word(line, "import") || is_word(line, "export")) return true;
        }
        at = text.find_first_of("\n;", at);
        if (at == std::string_view::npos) return false;
        ++at;
    }
    return false;
}

}  // namespace

std::string evaluation_of(std::string_view text) {
    if (is_module(text)) return std::string(text);
    // The text is embedded as JSON, which is valid JavaScript. Invalid UTF-8 becomes U+FFFD.
    nlohmann::json source = std::string(text);
    std::string module = "const source = ";
    module += source.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    module += kEvaluate;
    return module;
}

}  // namespace weft::app
