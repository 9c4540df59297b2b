#include "weft/js/resolve.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/js/module_url.h"
#include "weft/js/typescript_file.h"

namespace weft::js {
namespace {

using Code = ModuleError::Code;
using Kind = ModuleFiles::Kind;

constexpr std::string_view kNodeModules = "node_modules";
// What people leave out of a path, most likely first.
constexpr std::array<std::string_view, 12> kGuesses = {
    ".js",  ".mjs", ".ts",       ".mts",       ".tsx",      ".json",
    ".cjs", ".cts", "/index.js", "/index.mjs", "/index.ts", "/index.tsx"};
// What require() appends to a path, and also "main" in packages that are older than ES modules.
constexpr std::array<std::string_view, 6> kRequireGuesses = {"",     ".js",       ".json",
                                                             ".cjs", "/index.js", "/index.json"};

std::string in_folder(std::string_view folder, std::string_view name) {
    return folder == "/" ? format("/{}", name) : format("{}/{}", folder, name);
}

std::string_view name_in(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view extension_of(std::string_view path) {
    std::string_view name = name_in(path);
    std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::string without_slash(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

// The edit distance (Levenshtein): small only if one word is probably a mistyped form of the other.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t at = 0; at <= b.size(); ++at) row[at] = at;
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t corner = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            std::size_t replaced = corner + (a[i] == b[j] ? 0 : 1);
            corner = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    WEFT_DASSERT(row[b.size()] <= std::max(a.size(), b.size()), "replacing all letters suffices");
    return row[b.size()];
}

}  // namespace

std::string Module::url() const {
    return format == ModuleFormat::Builtin ? path : file_url(path) + suffix;
}

Resolver::Resolver(ModuleFiles& files, ResolverOptions options)
    : files_(files), options_(std::move(options)) {}

// ESM_RESOLVE, after the import map, which Node.js does not have.
ModuleResult<Module> Resolver::resolve(std::string_view specifier, const std::string& referrer,
                                       ImportKind kind) {
    Request request{specifier, referrer, kind};
    if (specifier.empty()) {
        return module_error(Code::InvalidSpecifier,
                            format("an empty specifier is imported from {}", referrer));
    }
    if (specifier.contains('\0')) {
        return module_error(Code::InvalidSpecifier,
                            format("a specifier with a zero byte is imported from {}", referrer));
    }
    if (options_.import_map) {
        auto mapped = options_.import_map->resolve(specifier, referrer);
        if (!mapped) return std::unexpected(mapped.error());
        if (*mapped) return resolve_mapped({**mapped, referrer, kind});
    }
    if (is_relative_or_absolute(specifier)) return resolve_path(request, specifier);
    if (specifier.starts_with('#')) return resolve_private(request);
    if (!scheme_of(specifier).empty()) return resolve_mapped(request);
    return resolve_bare(request);
}

// The specifier is a URL.
ModuleResult<Module> Resolver::resolve_mapped(const Request& request) {
    std::string_view scheme = scheme_of(request.specifier);
    if (scheme == "file") return resolve_file_url(request);
    if (scheme == "weft" || scheme == "node") return resolve_builtin(request);
    bool is_remote = scheme == "http" || scheme == "https";
    return module_error(
        Code::Unsupported,
        format("\"{}\" cannot be imported from {}: Weft loads files, packages and weft: modules",
               request.specifier, request.referrer),
        is_remote ? "Modules are not loaded over the network: install the package, or keep a copy "
                    "of the file beside yours."
                  : "");
}

ModuleResult<Module> Resolver::resolve_path(const Request& request, std::string_view written) {
    std::string_view folder = folder_of(request.referrer);
    if (request.kind == ImportKind::Require) {
        return require_path(request, join_path(folder, written));
    }
    PathAndSuffix split = split_suffix(written);
    std::optional<std::string> decoded = percent_decoded(split.path);
    if (!decoded) {
        return module_error(Code::InvalidSpecifier,
                            format("\"{}\", imported from {}, has an encoded slash in it",
                                   request.specifier, request.referrer));
    }
    std::string path = join_path(folder, *decoded);
    // TypeScript imports name the compiled file, or leave out the extension.
    bool is_typed = is_typescript(request.referrer) && files_.kind(path) != Kind::File;
    std::string meant = is_typed ? guess(path) : std::string();
    return open(request, meant.empty() ? path : meant, split.suffix);
}

ModuleResult<Module> Resolver::resolve_file_url(const Request& request) {
    std::optional<std::string> url = url_like(request.specifier, request.referrer);
    if (!url) {
        return module_error(Code::InvalidSpecifier,
                            format("\"{}\", imported from {}, names no file of this machine",
                                   request.specifier, request.referrer));
    }
    return resolve_path(request, std::string_view(*url).substr(std::string_view("file://").size()));
}

ModuleResult<Module> Resolver::resolve_builtin(const Request& request) {
    if (is_builtin(request.specifier)) {
        return Module{std::string(request.specifier), {}, ModuleFormat::Builtin};
    }
    constexpr std::size_t kTypos = 2;
    std::string hint;
    for (const std::string& name : options_.builtins) {
        if (distance(name, request.specifier) <= kTypos) {
            hint = format("Did you mean \"{}\"?", name);
            break;
        }
        hint += hint.empty() ? "There are: " : ", ";
        hint += name;
    }
    return module_error(Code::NotFound,
                        format("there is no built-in module \"{}\", imported from {}",
                               request.specifier, request.referrer),
                        std::move(hint));
}

// PACKAGE_IMPORTS_RESOLVE
ModuleResult<Module> Resolver::resolve_private(const Request& request) {
    WEFT_DASSERT(request.specifier.starts_with('#'), "private names begin with #");
    if (request.specifier == "#" || request.specifier.starts_with("#/")) {
        return module_error(Code::InvalidSpecifier,
                            format("\"{}\", imported from {}, is no name of \"imports\"",
                                   request.specifier, request.referrer));
    }
    ModuleResult<const Package*> package = package_of(request.referrer);
    if (!package) return std::unexpected(package.error());
    if (*package == nullptr) {
        return module_error(Code::NotDefined,
                            format("\"{}\" is imported from {}, above which there is no "
                                   "package.json that could define it in \"imports\"",
                                   request.specifier, request.referrer));
    }
    std::vector<std::string> holding = conditions(request.kind);
    ModuleResult<PackageTarget> target =
        resolve_imports({(*package)->folder, holding}, request.specifier, (*package)->json.imports);
    if (!target) return std::unexpected(target.error());
    return resolve_target(request, **package, *target);
}

// PACKAGE_RESOLVE
ModuleResult<Module> Resolver::resolve_bare(const Request& request) {
    std::string_view specifier = request.specifier;
    std::string as_node = format("node:{}", specifier);
    if (is_builtin(as_node)) return Module{as_node, {}, ModuleFormat::Builtin};

    std::size_t slash = specifier.find('/');
    if (specifier.starts_with('@') && slash != std::string_view::npos) {
        slash = specifier.find('/', slash + 1);
    }
    PackageName wanted{std::string(specifier.substr(0, slash)), "."};
    if (slash != std::string_view::npos) wanted.subpath += specifier.substr(slash);
    bool is_half_scope = wanted.name.starts_with("@/") ||
                         (wanted.name.starts_with('@') && !wanted.name.contains('/'));
    if (is_half_scope || wanted.name.empty() || wanted.name.starts_with('.') ||
        wanted.name.ends_with('/') || wanted.name.find_first_of("\\%") != std::string::npos) {
        return module_error(Code::InvalidSpecifier,
                            format("\"{}\", imported from {}, is neither a path nor the name of "
                                   "a package",
                                   specifier, request.referrer),
                            specifier.starts_with("@/")
                                ? "An import map or \"imports\" of package.json gives it a meaning."
                                : "");
    }
    // PACKAGE_SELF_RESOLVE
    ModuleResult<const Package*> self = package_of(request.referrer);
    if (!self) return std::unexpected(self.error());
    if (*self != nullptr && (*self)->json.name == wanted.name &&
        !(*self)->json.exports.is(Json::Kind::Absent)) {
        return resolve_in_package(request, **self, wanted.subpath);
    }
    std::vector<std::string> tried;
    for (std::string_view folder = folder_of(request.referrer);; folder = folder_of(folder)) {
        if (name_in(folder) != kNodeModules) {
            std::string place = in_folder(in_folder(folder, kNodeModules), wanted.name);
            if (files_.kind(place) == Kind::Folder) {
                ModuleResult<const Package*> package = package_in(place);
                if (!package) return std::unexpected(package.error());
                if (*package != nullptr) {
                    return resolve_in_package(request, **package, wanted.subpath);
                }
                return resolve_in_package(request, Package{place, {}}, wanted.subpath);
            }
            tried.push_back(std::move(place));
        }
        if (folder == "/") return no_package(request, wanted, std::move(tried));
    }
}

ModuleResult<Module> Resolver::resolve_in_package(const Request& request, const Package& package,
                                                  const std::string& subpath) {
    WEFT_ASSERT(subpath == "." || subpath.starts_with("./"), "a subpath is below its package");
    if (!package.json.exports.is(Json::Kind::Absent)) {
        std::vector<std::string> holding = conditions(request.kind);
        ModuleResult<PackageTarget> target =
            resolve_exports({package.folder, holding}, subpath, package.json.exports);
        if (!target && target.error().code == Code::NotExported) {
            // The package offers something only to Node.js. Much of that also runs here.
            holding.emplace_back("node");
            ModuleResult<PackageTarget> of_node =
                resolve_exports({package.folder, holding}, subpath, package.json.exports);
            if (of_node) target = std::move(of_node);
        }
        if (!target) {
            ModuleError error = std::move(target.error());
            error.message +=
                format("; imported as \"{}\" from {}", request.specifier, request.referrer);
            return std::unexpected(std::move(error));
        }
        return resolve_target(request, package, *target);
    }
    if (subpath == ".") return resolve_main(request, package);
    if (request.kind == ImportKind::Require) {
        return require_path(request, join_path(package.folder, subpath));
    }
    PathAndSuffix split = split_suffix(subpath);
    std::optional<std::string> decoded = percent_decoded(split.path);
    if (!decoded) {
        return module_error(Code::InvalidSpecifier,
                            format("\"{}\", imported from {}, has an encoded slash in it",
                                   request.specifier, request.referrer));
    }
    return open(request, join_path(package.folder, *decoded), split.suffix);
}

ModuleResult<Module> Resolver::resolve_target(const Request& request, const Package& package,
                                              const PackageTarget& target) {
    WEFT_ASSERT(target.path.empty() != target.specifier.empty(), "a target is one of the two");
    if (target.specifier.empty()) return open(request, target.path, {});
    std::string inside = in_folder(package.folder, "package.json");
    Request outside{target.specifier, inside, request.kind};
    if (!scheme_of(target.specifier).empty()) return resolve_builtin(outside);
    return resolve_bare(outside);
}

// The entry of a package without "exports": "module", "main", index.js.
ModuleResult<Module> Resolver::resolve_main(const Request& request, const Package& package) {
    std::vector<std::string> tried;
    bool wants_module = request.kind == ImportKind::Import && package.json.module.has_value();
    if (wants_module) {
        std::string path = join_path(package.folder, *package.json.module);
        if (files_.kind(path) == Kind::File) {
            ModuleResult<Module> module = open(request, path, {});
            // The field promises an ES module, whatever "type" says about the package's files.
            bool is_script = module && (module->format == ModuleFormat::Either ||
                                        module->format == ModuleFormat::CommonJs);
            if (is_script && !path.ends_with(".cjs")) module->format = ModuleFormat::Module;
            return module;
        }
        tried.push_back(std::move(path));
    }
    if (package.json.main) {
        std::string main = without_slash(join_path(package.folder, *package.json.main));
        for (std::string_view guess : kRequireGuesses) {
            std::string path = main + std::string(guess);
            if (files_.kind(path) == Kind::File) return open(request, path, {});
            tried.push_back(std::move(path));
        }
    }
    for (std::string_view name : {"index.js", "index.json", "index.mjs"}) {
        std::string path = in_folder(package.folder, name);
        if (files_.kind(path) == Kind::File) return open(request, path, {});
        tried.push_back(std::move(path));
    }
    return not_found(request, std::move(tried));
}

// LOAD_AS_FILE and LOAD_AS_DIRECTORY of CommonJS.
ModuleResult<Module> Resolver::require_path(const Request& request, const std::string& path) {
    std::vector<std::string> tried;
    std::string plain = without_slash(path);
    for (std::string_view guess : kRequireGuesses) {
        if (guess.starts_with('/')) break;
        if (path.ends_with('/')) break;
        std::string candidate = plain + std::string(guess);
        if (files_.kind(candidate) == Kind::File) return open(request, candidate, {});
        tried.push_back(std::move(candidate));
    }
    if (files_.kind(plain) != Kind::Folder) {
        std::string meant = is_typescript(request.referrer) ? guess(plain) : std::string();
        if (!meant.empty()) return open(request, meant, {});
        return not_found(request, std::move(tried));
    }
    ModuleResult<const Package*> package = package_in(plain);
    if (!package) return std::unexpected(package.error());
    return resolve_main(request, *package != nullptr ? **package : Package{plain, {}});
}

ModuleResult<Module> Resolver::resolve_entry(const std::string& path) {
    Request request{path, path, ImportKind::Import};
    std::string plain = without_slash(normalized_path(path));
    if (files_.kind(plain) != Kind::Folder) return open(request, plain, {});
    std::vector<std::string> tried;
    ModuleResult<const Package*> package = package_in(plain);
    if (!package) return std::unexpected(package.error());
    if (*package != nullptr) {
        ModuleResult<Module> module = resolve_in_package(request, **package, ".");
        if (module || module.error().code != Code::NotFound) return module;
        tried = std::move(module.error().tried);
    }
    for (std::string_view name :
         {"index.js", "index.mjs", "index.ts", "app.js", "app.ts", "main.js", "main.ts",
          "server.js", "server.ts", "src/index.js", "src/index.ts"}) {
        std::string candidate = in_folder(plain, name);
        if (files_.kind(candidate) == Kind::File) return open(request, candidate, {});
        if (std::ranges::find(tried, candidate) == tried.end()) tried.push_back(candidate);
    }
    return std::unexpected(
        ModuleError{Code::NotFound, format("there is nothing to run in the folder {}", plain),
                    std::move(tried), "Name the file, or name it as \"main\" in a package.json."});
}

// ESM_RESOLVE, step 7: the result must be a file.
ModuleResult<Module> Resolver::open(const Request& request, const std::string& path,
                                    std::string_view suffix) {
    WEFT_DASSERT(suffix.empty() || suffix[0] == '?' || suffix[0] == '#', "of split_suffix()");
    Kind kind = path.ends_with('/') ? Kind::Folder : files_.kind(path);
    if (kind == Kind::None) return not_found(request, {path});
    if (kind == Kind::Folder) {
        std::string plain = without_slash(path);
        std::string guessed = guess(plain);
        return module_error(Code::Folder,
                            format("\"{}\", imported from {}, is the folder {}", request.specifier,
                                   request.referrer, plain),
                            guessed.empty() ? "" : format("Did you mean the file {}?", guessed));
    }
    std::string real = files_.real_path(path);
    ModuleResult<ModuleFormat> found = format_of(real, request.kind);
    if (!found) return std::unexpected(found.error());
    return Module{std::move(real), std::string(suffix), *found};
}

ModuleResult<ModuleFormat> Resolver::format_of(const std::string& real_path, ImportKind kind) {
    std::string_view extension = extension_of(real_path);
    if (extension == ".mjs" || extension.empty()) return ModuleFormat::Module;
    if (extension == ".cjs" || extension == ".cts") return ModuleFormat::CommonJs;
    if (extension == ".json") return ModuleFormat::Json;
    if (is_typescript(real_path)) return ModuleFormat::TypeScript;
    if (extension != ".js") {
        return module_error(
            Code::Unsupported,
            format("{} is neither .js, .mjs, .cjs, .ts, .mts, .cts, .tsx, .jsx nor .json",
                   real_path));
    }
    ModuleResult<const Package*> package = package_of(real_path);
    if (!package) return std::unexpected(package.error());
    if (*package != nullptr && (*package)->json.type == "module") return ModuleFormat::Module;
    if (*package != nullptr && (*package)->json.type == "commonjs") return ModuleFormat::CommonJs;
    return kind == ImportKind::Require || real_path.contains("/node_modules/")
               ? ModuleFormat::Either
               : ModuleFormat::Module;
}

std::unexpected<ModuleError> Resolver::not_found(const Request& request,
                                                 std::vector<std::string> tried) const {
    std::string hint;
    for (const std::string& path : tried) {
        std::string guessed = guess(path);
        if (guessed.empty()) continue;
        hint = format("Did you mean the file {}?", guessed);
        // Only the ending was left out, so the hint can show the specifier as it must be written.
        if (guessed.starts_with(path)) {
            hint = format("Did you mean \"{}{}\"?", request.specifier, guessed.substr(path.size()));
        }
        break;
    }
    return std::unexpected(ModuleError{
        Code::NotFound,
        format("\"{}\", imported from {}, is not there", request.specifier, request.referrer),
        std::move(tried), std::move(hint)});
}

std::unexpected<ModuleError> Resolver::no_package(const Request& request, const PackageName& wanted,
                                                  std::vector<std::string> tried) {
    std::string hint;
    std::string beside = in_folder(folder_of(request.referrer), request.specifier);
    ModuleResult<const Package*> package = package_of(request.referrer);
    bool is_named = package && *package != nullptr &&
                    std::ranges::find((*package)->json.dependencies, wanted.name) !=
                        (*package)->json.dependencies.end();
    std::string builtin = format("weft:{}", request.specifier);
    if (is_builtin(builtin)) {
        hint = format("Did you mean \"{}\"?", builtin);
    } else if (files_.kind(beside) == Kind::File || !guess(beside).empty()) {
        std::string guessed = files_.kind(beside) == Kind::File ? beside : guess(beside);
        hint = format("Did you mean \".{}\"?",
                      guessed.substr(folder_of(request.referrer).size() -
                                     (folder_of(request.referrer) == "/" ? 1 : 0)));
    } else if (is_named) {
        hint = format("{}/package.json names it, but it is not installed: npm install",
                      (*package)->folder);
    } else {
        hint = format("Install it: npm install {}", wanted.name);
    }
    return std::unexpected(ModuleError{
        Code::NotFound,
        format("there is no package \"{}\", imported from {}", wanted.name, request.referrer),
        std::move(tried), std::move(hint)});
}

// The existing file that was probably meant; empty if there is none.
std::string Resolver::guess(const std::string& path) const {
    for (std::string_view tail : kGuesses) {
        std::string candidate = path + std::string(tail);
        if (files_.kind(candidate) == Kind::File) return candidate;
    }
    if (path.ends_with(".js") || path.ends_with(".mjs") || path.ends_with(".cjs")) {
        std::string typed = path;
        typed.replace(typed.size() - 2, 1, "t");
        if (files_.kind(typed) == Kind::File) return typed;
    }
    return {};
}

std::vector<std::string> Resolver::conditions(ImportKind kind) const {
    std::vector<std::string> all = options_.conditions;
    all.emplace_back(kind == ImportKind::Import ? "import" : "require");
    return all;
}

bool Resolver::is_builtin(std::string_view name) const {
    return std::ranges::find(options_.builtins, name) != options_.builtins.end();
}

ModuleResult<const Resolver::Package*> Resolver::package_in(const std::string& folder) {
    if (auto known = packages_.find(folder); known != packages_.end()) return known->second.get();
    std::string path = in_folder(folder, "package.json");
    std::unique_ptr<Package> package;
    if (files_.kind(path) == Kind::File) {
        Result<std::string> text = files_.read(path);
        if (!text) {
            return module_error(Code::InvalidPackage,
                                format("{} cannot be read: {}", path, text.error().message()));
        }
        std::expected<PackageJson, std::string> json = parse_package_json(*text);
        if (!json) {
            return module_error(Code::InvalidPackage, format("{}: {}", path, json.error()));
        }
        package = std::make_unique<Package>(Package{folder, std::move(*json)});
    }
    return packages_.emplace(folder, std::move(package)).first->second.get();
}

// LOOKUP_PACKAGE_SCOPE
ModuleResult<const Resolver::Package*> Resolver::package_of(std::string_view path) {
    for (std::string_view folder = folder_of(path);; folder = folder_of(folder)) {
        if (name_in(folder) == kNodeModules) return nullptr;
        ModuleResult<const Package*> package = package_in(std::string(folder));
        if (!package || *package != nullptr || folder == "/") return package;
    }
}

}  // namespace weft::js
