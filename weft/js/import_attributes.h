// Import attributes, which the engine does not know yet:
//
//     import settings from "./settings.json" with { type: "json" };
//     const { default: more } = await import("./more.json", { with: { type: "json" } });
//
// They become blanks, so that lines and columns stay. What kind of module a file is, its name says
// already; a type other than "json" is an error, and so is any other attribute.
//
// Values only; any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "weft/js/typescript.h"

namespace weft::js {

// Whether it is worth to look closer: the text has `with` behind a name of a module or as a key.
bool may_have_import_attributes(std::string_view source);

std::expected<std::string, TypeScriptError> without_import_attributes(std::string source);

}  // namespace weft::js
