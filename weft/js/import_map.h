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
    // `path` is the file's: what is relative in it is relative to its folder.
    static ModuleResult<ImportMap> parse(std::string_view text, const std::string& path);

    // The URL that the map gives for a specifier; nothing if it says nothing about it.
    ModuleResult<std::optional<std::string>> resolve(std::string_view specifier,
                                                     const std::string& referrer) const;

    // What the standard ignores with a warning: entries that can never be used.
    const std::vector<std::string>& warnings() const { return warnings_; }

private:
    // Longest and last first; an address of nothing is null, which blocks.
    using Entries = std::vector<std::pair<std::string, std::optional<std::string>>>;

    static ModuleResult<std::optional<std::string>> match(
        const Entries& entries, std::string_view specifier,
        const std::optional<std::string>& specifier_url);

    Entries imports_;
    std::vector<std::pair<std::string, Entries>> scopes_;
    std::vector<std::string> warnings_;

    friend class ImportMapReader;
};

// A specifier that is a URL, or a path relative to `referrer`, as a URL; nothing if it is bare.
std::optional<std::string> url_like(std::string_view specifier, const std::string& referrer);

}  // namespace weft::js
