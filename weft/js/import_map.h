// ImportMap: names for modules, as the HTML standard has them.
//
//     {"imports": {"app/": "./src/", "db": "./src/db.js"},
//      "scopes": {"./vendor/": {"db": "./vendor/db.js"}}}
//
// https://html.spec.whatwg.org/multipage/webappapis.html#import-maps, for file: URLs, `weft:` and
// `node:`. A value; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/js/module_error.h"

namespace weft::js {

class ImportMap {
public:
    // `path` is the map's own file: relative URLs in it are relative to its folder.
    static ModuleResult<ImportMap> parse(std::string_view text, const std::string& path);

    // The URL that the map has for a specifier; empty if it has none.
    ModuleResult<std::optional<std::string>> resolve(std::string_view specifier,
                                                     const std::string& referrer) const;

    // Entries that the standard ignores with a warning, because they can never be used.
    const std::vector<std::string>& warnings() const { return warnings_; }

private:
    // Sorted by key in descending order, so that a longer key comes before its prefixes. An empty
    // address is null in the map, which blocks the import.
    using Entries = std::vector<std::pair<std::string, std::optional<std::string>>>;

    static ModuleResult<std::optional<std::string>> match(
        const Entries& entries, std::string_view specifier,
        const std::optional<std::string>& specifier_url);

    Entries imports_;
    std::vector<std::pair<std::string, Entries>> scopes_;
    std::vector<std::string> warnings_;

    friend class ImportMapReader;
};

// A specifier that is a URL, or a path relative to `referrer`, as a URL; empty for a bare name.
std::optional<std::string> url_like(std::string_view specifier, const std::string& referrer);

}  // namespace weft::js
