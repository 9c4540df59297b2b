#include "weft/js/import_map.h"

#include <algorithm>
#include <functional>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/js/module_url.h"
#include "weft/js/package_json.h"

namespace weft::js {
namespace {

using Code = ModuleError::Code;
using Mapped = ModuleResult<std::optional<std::string>>;

// A path with its query and fragment, relative to a folder, as a URL.
std::optional<std::string> path_url(std::string_view written, std::string_view folder) {
    PathAndSuffix split = split_suffix(written);
    std::optional<std::string> decoded = percent_decoded(split.path);
    if (!decoded) return {};
    return file_url(join_path(folder, *decoded)) + std::string(split.suffix);
}

// The part of a file: URL after its host, which may only be empty or localhost.
std::optional<std::string_view> file_url_path(std::string_view url) {
    url.remove_prefix(std::string_view("file:").size());
    if (!url.starts_with("//")) return url.starts_with('/') ? std::optional(url) : std::nullopt;
    url.remove_prefix(2);
    if (url.starts_with("localhost/")) url.remove_prefix(std::string_view("localhost").size());
    return url.starts_with('/') ? std::optional(url) : std::nullopt;
}

}  // namespace

std::optional<std::string> url_like(std::string_view specifier, const std::string& referrer) {
    if (is_relative_or_absolute(specifier)) return path_url(specifier, folder_of(referrer));
    std::string_view scheme = scheme_of(specifier);
    if (scheme.empty()) return {};
    if (scheme != "file") return std::string(specifier);
    std::optional<std::string_view> path = file_url_path(specifier);
    return path ? path_url(*path, "/") : std::nullopt;
}

// Parses a map. The steps are those of "parse an import map string".
class ImportMapReader {
public:
    explicit ImportMapReader(const std::string& path) : path_(path) {}

    ModuleResult<ImportMap> read(std::string_view text) {
        std::expected<Json, std::string> root = parse_json(text);
        if (!root) return invalid(root.error());
        if (!root->is(Json::Kind::Object)) return invalid("an import map is an object");
        for (const std::string& key : root->keys) {
            if (key != "imports" && key != "scopes" && key != "integrity") {
                warn("there is no \"" + key + "\" in an import map");
            }
        }
        if (const Json* imports = root->find("imports")) {
            if (!imports->is(Json::Kind::Object)) return invalid("\"imports\" is an object");
            map_.imports_ = entries(*imports);
        }
        if (const Json* scopes = root->find("scopes")) {
            if (!scopes->is(Json::Kind::Object)) return invalid("\"scopes\" is an object");
            for (std::size_t at = 0; at < scopes->keys.size(); ++at) {
                if (!scopes->items[at].is(Json::Kind::Object)) {
                    return invalid("the scope \"" + scopes->keys[at] + "\" is an object");
                }
                add_scope(scopes->keys[at], scopes->items[at]);
            }
        }
        std::ranges::sort(map_.scopes_, std::greater(),
                          [](const auto& scope) -> const std::string& { return scope.first; });
        return std::move(map_);
    }

private:
    std::unexpected<ModuleError> invalid(std::string_view why) const {
        return module_error(Code::InvalidPackage, format("{}: {}", path_, why));
    }
    void warn(std::string text) { map_.warnings_.push_back(std::move(text)); }

    void add_scope(const std::string& prefix, const Json& value) {
        std::optional<std::string> url = scheme_of(prefix).empty()
                                             ? path_url(prefix, folder_of(path_))
                                             : url_like(prefix, path_);
        if (!url) return warn("the scope \"" + prefix + "\" is no URL");
        map_.scopes_.emplace_back(*url, entries(value));
    }

    // "sort and normalize a module specifier map"
    ImportMap::Entries entries(const Json& object) {
        ImportMap::Entries result;
        for (std::size_t at = 0; at < object.keys.size(); ++at) {
            const std::string& key = object.keys[at];
            if (key.empty()) {
                warn("an empty name cannot be imported");
                continue;
            }
            result.emplace_back(url_like(key, path_).value_or(key), address(key, object.items[at]));
        }
        std::ranges::stable_sort(
            result, std::greater(),
            [](const auto& entry) -> const std::string& { return entry.first; });
        return result;
    }

    std::optional<std::string> address(const std::string& key, const Json& value) {
        std::optional<std::string> url;
        if (value.is(Json::Kind::String)) url = url_like(value.text, path_);
        if (!url && !value.is(Json::Kind::Null)) {
            warn("the address of \"" + key + "\" is neither a URL nor a path with ./, ../ or /");
        }
        if (url && key.ends_with('/') && !url->ends_with('/')) {
            warn("\"" + key + "\" ends in a slash, but its address does not");
            return {};
        }
        return url;
    }

    const std::string& path_;
    ImportMap map_;
};

ModuleResult<ImportMap> ImportMap::parse(std::string_view text, const std::string& path) {
    return ImportMapReader(path).read(text);
}

// "resolve an imports match"
Mapped ImportMap::match(const Entries& entries, std::string_view specifier,
                        const std::optional<std::string>& specifier_url) {
    for (const auto& [key, address] : entries) {
        bool is_prefix = key.ends_with('/') && specifier.starts_with(key) &&
                         (!specifier_url || specifier_url->starts_with("file:"));
        if (key != specifier && !is_prefix) continue;
        if (!address) {
            return module_error(
                Code::Blocked,
                format("the import map blocks \"{}\" by the entry \"{}\"", specifier, key));
        }
        if (key == specifier) return address;
        std::string_view behind = specifier.substr(key.size());
        std::optional<std::string> url;
        if (address->starts_with("file:")) {
            std::optional<std::string_view> path = file_url_path(*address);
            WEFT_ASSERT(path, "an address that is a file: URL was made by path_url()");
            std::optional<std::string> folder = percent_decoded(*path);
            if (folder) url = path_url(behind, *folder);
        } else {
            url = *address + std::string(behind);
        }
        if (!url || !url->starts_with(*address)) {
            return module_error(Code::Blocked,
                                format("\"{}\" leads above \"{}\", the address of \"{}\" in the "
                                       "import map",
                                       specifier, *address, key));
        }
        return url;
    }
    return std::optional<std::string>();
}

// "resolve a module specifier", steps 9 to 11
Mapped ImportMap::resolve(std::string_view specifier, const std::string& referrer) const {
    std::string base = file_url(referrer);
    std::optional<std::string> url = url_like(specifier, referrer);
    std::string normalized = url.value_or(std::string(specifier));
    for (const auto& [prefix, entries] : scopes_) {
        if (prefix != base && !(prefix.ends_with('/') && base.starts_with(prefix))) continue;
        Mapped found = match(entries, normalized, url);
        if (!found || *found) return found;
    }
    return match(imports_, normalized, url);
}

}  // namespace weft::js
