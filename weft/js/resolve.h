// Resolver: finds the file that an import means.
//
//     DiskFiles files;
//     Resolver resolver(files, {.builtins = {"weft:http", "weft:time"}});
//     auto module = resolver.resolve("./routes.js", "/srv/app/main.js");
//     if (!module) return module.error().text();     // lists the paths that were tried
//
// An import is resolved as in Node.js. A path is used as it is written, without guessing
// extensions. A bare name is a package in the node_modules of a folder above; "exports" in its
// package.json lists what it offers, under conditions of which Weft fulfils `weft`, `worker` and
// `import` (or `require`). If there is an import map, it is applied first. Links in the resulting
// path are resolved: a package that is linked into two places is one module.
//
// Owning isolate only. It caches the package.json files that it has read, until forget().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/js/import_map.h"
#include "weft/js/module_error.h"
#include "weft/js/module_files.h"
#include "weft/js/package_exports.h"
#include "weft/js/package_json.h"

namespace weft::js {

enum class ModuleFormat : std::uint8_t {
    Module,
    CommonJs,
    Either,  // a .js file in node_modules, or required, without a "type": its syntax decides
    TypeScript,
    Json,
    Builtin,
};

struct Module {
    std::string path;    // absolute, without links; for a built-in its name, as in "weft:http"
    std::string suffix;  // "?v=1", "#x": another suffix is another module from the same file
    ModuleFormat format = ModuleFormat::Module;

    // The value of import.meta.url, which identifies the module.
    std::string url() const;
    friend bool operator==(const Module&, const Module&) = default;
};

enum class ImportKind : std::uint8_t { Import, Require };

struct ResolverOptions {
    // In addition to `import` or `require`, and `default`.
    std::vector<std::string> conditions = {"weft", "worker"};
    // Names with their scheme. "node:fs" is also found as "fs", before any package.
    std::vector<std::string> builtins = {};
    std::optional<ImportMap> import_map = {};
};

class Resolver {
public:
    Resolver(ModuleFiles& files, ResolverOptions options);
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    // `referrer` is the path of the module that imports.
    ModuleResult<Module> resolve(std::string_view specifier, const std::string& referrer,
                                 ImportKind kind = ImportKind::Import);

    // For a path from the command line: a file, or a folder with a package.json or an index.js.
    // The path is absolute.
    ModuleResult<Module> resolve_entry(const std::string& path);

    // Drops the cached package.json files.
    void forget() { packages_.clear(); }

private:
    struct Package {
        std::string folder;
        PackageJson json;
    };
    struct Request {
        std::string_view specifier;
        const std::string& referrer;
        ImportKind kind;
    };
    struct PackageName {
        std::string name;
        std::string subpath;  // "." or "./..."
    };

    ModuleResult<Module> resolve_mapped(const Request& request);
    ModuleResult<Module> resolve_path(const Request& request, std::string_view written);
    ModuleResult<Module> resolve_file_url(const Request& request);
    ModuleResult<Module> resolve_builtin(const Request& request);
    ModuleResult<Module> resolve_private(const Request& request);
    ModuleResult<Module> resolve_bare(const Request& request);
    ModuleResult<Module> resolve_in_package(const Request& request, const Package& package,
                                            const std::string& subpath);
    ModuleResult<Module> resolve_target(const Request& request, const Package& package,
                                        const PackageTarget& target);
    ModuleResult<Module> resolve_main(const Request& request, const Package& package);
    ModuleResult<Module> require_path(const Request& request, const std::string& path);

    ModuleResult<Module> open(const Request& request, const std::string& path,
                              std::string_view suffix);
    ModuleResult<ModuleFormat> format_of(const std::string& real_path, ImportKind kind);
    std::unexpected<ModuleError> not_found(const Request& request,
                                           std::vector<std::string> tried) const;
    std::unexpected<ModuleError> no_package(const Request& request, const PackageName& wanted,
                                            std::vector<std::string> tried);
    std::string guess(const std::string& path) const;
    std::vector<std::string> conditions(ImportKind kind) const;
    bool is_builtin(std::string_view name) const;

    // Null if there is no package.json in the folder.
    ModuleResult<const Package*> package_in(const std::string& folder);
    // The nearest one above a file, up to a node_modules folder; null if there is none.
    ModuleResult<const Package*> package_of(std::string_view path);

    ModuleFiles& files_;
    ResolverOptions options_;
    // By folder. Null: the folder has none; that is asked for repeatedly, so it is cached as well.
    std::unordered_map<std::string, std::unique_ptr<Package>> packages_;
};

}  // namespace weft::js
