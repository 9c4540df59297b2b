// PackageJson: what a package.json says about importing from its package; and JSON as a tree.
//
// The only place of js/ that reads JSON without V8: packages are looked up before there is an
// isolate, and import maps as well. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::js {

// A value of JSON. Members keep the order in which they were written, which "exports" counts on;
// of two with the same key the later counts, at the place of the earlier, as JSON.parse() has it.
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

// The error says where: "line 3, column 5: ...".
std::expected<Json, std::string> parse_json(std::string_view text);

struct PackageJson {
    std::optional<std::string> name;
    std::optional<std::string> type;  // "module", "commonjs"
    std::optional<std::string> main;
    std::optional<std::string> module;  // what bundlers read instead of main, as a module
    Json exports;                       // Absent if there are none, or null
    Json imports;
    std::vector<std::string> dependencies;  // names, of all kinds of dependencies
};

std::expected<PackageJson, std::string> parse_package_json(std::string_view text);

}  // namespace weft::js
