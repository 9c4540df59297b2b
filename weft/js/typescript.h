// TypeScript, as far as its types go: they become blanks, and everything else stays in its place.
//
//     auto javascript = strip_types(source, {});
//     if (!javascript) return javascript.error().message;      // with line and column
//
// Lines and columns of what is left are those of the file, so stacks need no source map. Types,
// interfaces, overloads, modifiers, `as`, `satisfies`, `!` and imports of which only the types are
// used are blanked. What TypeScript adds to the language is written out on the same lines: enums,
// parameter properties, `import x = require("y")`, and JSX. Namespaces that hold values are an
// error. Whether the types are right is not looked at.
//
// Values only; any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

namespace weft::js {

struct TypeScriptError {
    std::size_t line = 1;
    std::size_t column = 1;
    std::string message;
};

// Of a .tsx file, elements become calls of the runtime that `<module>/jsx-runtime` exports.
struct TypeScriptOptions {
    bool is_tsx = false;
    std::string jsx_module = "react";  // a comment `@jsxImportSource x` in the file counts more
};

std::expected<std::string, TypeScriptError> strip_types(std::string_view source,
                                                        const TypeScriptOptions& options = {});

}  // namespace weft::js
