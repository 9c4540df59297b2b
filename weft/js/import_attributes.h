// Removes import attributes, which the engine does not support yet:
//
//     import settings from "./settings.json" with { type: "json" };
//     const { default: more } = await import("./more.json", { with: { type: "json" } });
//
// They are replaced by blanks, so that lines and columns do not change. The format of a module
// follows from its file name; so a type other than "json", or any other attribute, is an error.
//
// Values only; any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "weft/js/typescript.h"

namespace weft::js {

// A quick test: false if the text has no `with` after the name of a module or as a key.
bool may_have_import_attributes(std::string_view source);

std::expected<std::string, TypeScriptError> without_import_attributes(std::string source);

}  // namespace weft::js
