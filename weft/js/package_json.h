// PackageJson: the parts of a package.json that matter for imports; and JSON as a tree.
//
// This is the only part of js/ that reads JSON without V8: packages and import maps are looked up
// before there is an isolate. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::js {

// A JSON value. Members keep the order in which they were written, which "exports" relies on. Of
// two members with the same key, the later value takes the place of the earlier, as in
// JSON.parse().
struct Json {
    enum class Kind : std::uint8_t { Absent, Null, Boolean, Number, String, Array, Object };
    static constexpr std::size_t kDepthMax = 100;

    Kind kind = Kind::Absent;
    std::string text;               // of a string
    std::vector<std::string> keys;  // of an object: keys[i] is the key of items[i]
    std::vector<Json> items;        // of an array or an object

    const Json* find(std::string_view key) const;  // null if there is none
    bool is(Kind wanted) const { return kind == wanted; }
};

// The error begins with the place: "line 3, column 5: ...".
std::expected<Json, std::string> parse_json(std::string_view text);

struct PackageJson {
    std::optional<std::string> name;
    std::optional<std::string> type;  // "module", "commonjs"
    std::optional<std::string> main;
    std::optional<std::string> module;  // an ES module that bundlers use instead of main
    Json exports;                       // Absent if it is missing or null; so is imports
    Json imports;
    std::vector<std::string> dependencies;  // the names in all kinds of dependencies
};

std::expected<PackageJson, std::string> parse_package_json(std::string_view text);

}  // namespace weft::js
