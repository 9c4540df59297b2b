// Where the "exports" and "imports" of a package.json lead.
//
// The algorithm is that of Node.js ("Modules: ECMAScript modules", Resolution Algorithm
// Specification), whose steps are named beside the functions. No disk: a path that comes out may
// lead nowhere. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weft/js/module_error.h"
#include "weft/js/package_json.h"

namespace weft::js {

// One of the two is set.
struct PackageTarget {
    std::string path;       // absolute, inside the package
    std::string specifier;  // of another package or a built-in; "imports" may lead there
};

struct PackageQuery {
    std::string_view folder;                  // of the package.json
    std::span<const std::string> conditions;  // besides "default", which always holds
};

// `subpath` is "." for the package itself, "./a.js" for something in it.
ModuleResult<PackageTarget> resolve_exports(const PackageQuery& package, std::string_view subpath,
                                            const Json& exports);
// `name` begins with '#'.
ModuleResult<PackageTarget> resolve_imports(const PackageQuery& package, std::string_view name,
                                            const Json& imports);

}  // namespace weft::js
