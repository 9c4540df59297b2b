// Converts the text of a file to JavaScript that the engine can compile.
//
// A fiber, or a plain thread.
#pragma once

#include <string>

#include "weft/base/result.h"
#include "weft/js/module_files.h"

namespace weft::js {

bool is_typescript(std::string_view path);

// `source` is the file's text. For JSX the nearest tsconfig.json names the module of the runtime.
// The error is text for people: the place, the line, a caret below it.
Result<std::string> without_types(ModuleFiles& files, const std::string& path,
                                  const std::string& source);

// Removes the import attributes from a JavaScript text. The error is as above.
Result<std::string> without_attributes(const std::string& path, std::string source);

}  // namespace weft::js
