// Resolves "exports" and "imports" of a package.json.
//
// The algorithm is that of Node.js ("Modules: ECMAScript modules", Resolution Algorithm
// Specification), whose steps are named beside the functions. It does not access the disk: the
// resulting path need not exist. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weft/js/module_error.h"
#include "weft/js/package_json.h"

namespace weft::js {

// Exactly one of the two is set.
struct PackageTarget {
    std::string path;       // absolute, inside the package
    std::string specifier;  // of another package or a built-in; only from "imports"
};

struct PackageQuery {
    std::string_view folder;                  // that contains the package.json
    std::span<const std::string> conditions;  // "default" always holds and is not listed
};

// `subpath` is "." for the package itself, "./a.js" for a file in it.
ModuleResult<PackageTarget> resolve_exports(const PackageQuery& package, std::string_view subpath,
                                            const Json& exports);
// `name` begins with '#'.
ModuleResult<PackageTarget> resolve_imports(const PackageQuery& package, std::string_view name,
                                            const Json& imports);

}  // namespace weft::js
