// A TypeScript file as the JavaScript that it stands for.
//
// A fiber, or a plain thread.
#pragma once

#include <string>

#include "weft/base/result.h"
#include "weft/js/module_files.h"

namespace weft::js {

bool is_typescript(std::string_view path);

// `source` is the file's text. For JSX the nearest tsconfig.json is asked by what module it is
// made. The error is text for people: the place, the line, a caret below it.
Result<std::string> without_types(ModuleFiles& files, const std::string& path,
                                  const std::string& source);

// The text of a file in JavaScript without its import attributes. The error is as above.
Result<std::string> without_attributes(const std::string& path, std::string source);

}  // namespace weft::js
