// What a CommonJS file exports, as far as its text shows it.
//
// An import of names from such a file is linked before the file has run, so the names are taken
// from the text. Recognized is what the compilers of this world write, in the same forms as Node.js
// recognizes it (cjs-module-lexer): `exports.a =`, `module.exports = { a, b }`,
// `module.exports = require("x")`, `Object.defineProperty(exports, "a", ...)`, the re-exports of
// TypeScript and Babel, the hint of esbuild.
//
// Values only; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::js {

struct CjsExports {
    std::vector<std::string> names;      // in the order in which they came, each once
    std::vector<std::string> reexports;  // specifiers whose names are this file's as well
};

CjsExports find_cjs_exports(std::string_view source);

// Whether the text can only be an ES module: it imports or exports by statements, or names
// import.meta.
bool has_module_syntax(std::string_view source);

}  // namespace weft::js
