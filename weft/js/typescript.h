// Removes the types from TypeScript: they are replaced by blanks, so that nothing else moves.
//
//     auto javascript = strip_types(source, {});
//     if (!javascript) return javascript.error().message;      // with line and column
//
// The remaining code keeps its lines and columns, so stacks need no source map. Types, interfaces,
// overloads, modifiers, `as`, `satisfies`, `!` and imports that are used only as types are blanked.
// What TypeScript adds to the language is replaced by JavaScript on the same lines: enums,
// parameter properties, `import x = require("y")`, and JSX. A namespace with values is an error.
// Types are not checked.
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

// In a .tsx file, elements become calls of the functions that `<module>/jsx-runtime` exports.
struct TypeScriptOptions {
    bool is_tsx = false;
    std::string jsx_module = "react";  // a comment `@jsxImportSource x` in the file overrides it
};

std::expected<std::string, TypeScriptError> strip_types(std::string_view source,
                                                        const TypeScriptOptions& options = {});

}  // namespace weft::js
