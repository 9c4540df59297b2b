// The names that a CommonJS file exports, found in its text.
//
// An import of names from such a file is linked before the file has run, so the names are taken
// from the text. The forms that compilers write are recognized, the same ones as in Node.js
// (cjs-module-lexer): `exports.a =`, `module.exports = { a, b }`, `module.exports = require("x")`,
// `Object.defineProperty(exports, "a", ...)`, the re-exports of TypeScript and Babel, and the
// annotation of esbuild.
//
// Values only; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::js {

struct CjsExports {
    std::vector<std::string> names;      // in the order of their first appearance, each once
    std::vector<std::string> reexports;  // specifiers of files whose names are exported as well
};

CjsExports find_cjs_exports(std::string_view source);

// Whether the text can only be an ES module: it has import or export statements, or import.meta.
bool has_module_syntax(std::string_view source);

}  // namespace weft::js
