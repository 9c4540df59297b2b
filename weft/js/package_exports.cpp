#include "weft/js/package_exports.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/js/module_url.h"

namespace weft::js {
namespace {

using Code = ModuleError::Code;

enum class Table : std::uint8_t { Exports, Imports };

// The result of a target: `undefined` continues with the next condition, `null` forbids the import.
struct Outcome {
    enum class State : std::uint8_t { Undefined, Null, Found };
    State state = State::Undefined;
    PackageTarget target;
};
constexpr Outcome::State kUndefined = Outcome::State::Undefined;
constexpr Outcome::State kNull = Outcome::State::Null;
constexpr Outcome::State kFound = Outcome::State::Found;

struct Match {
    const PackageQuery& package;
    Table table;
    std::string_view key;                   // in the table, for messages
    std::optional<std::string_view> stars;  // the text that replaces '*'; none for an exact key
};

std::string replace_stars(std::string_view text, std::string_view stars) {
    std::string result;
    for (char c : text) {
        if (c == '*') {
            result += stars;
        } else {
            result += c;
        }
    }
    return result;
}

bool is_same_ignoring_case(std::string_view a, std::string_view lower) {
    return std::ranges::equal(a, lower, [](char x, char y) {
        return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
    });
}

// Whether a segment of the path is empty, ".", ".." or node_modules, or has an encoded separator;
// segments are compared after percent-decoding.
bool has_forbidden_segment(std::string_view path) {
    std::size_t at = 0;
    while (at <= path.size()) {
        std::size_t end = path.find_first_of("/\\", at);
        if (end == std::string_view::npos) end = path.size();
        std::optional<std::string> part = percent_decoded(path.substr(at, end - at));
        if (!part || part->empty() || *part == "." || *part == ".." ||
            is_same_ignoring_case(*part, "node_modules")) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

std::string_view name_of(Table table) { return table == Table::Exports ? "exports" : "imports"; }

std::unexpected<ModuleError> invalid_target(const Match& match, std::string_view target) {
    return module_error(
        Code::InvalidTarget,
        format("\"{}\" of {}/package.json leads \"{}\" to \"{}\", which is not a path inside of "
               "the package",
               name_of(match.table), match.package.folder, match.key, target),
        match.table == Table::Exports ? "A target begins with \"./\" and has no \"..\" in it."
                                      : "");
}

// PACKAGE_TARGET_RESOLVE, step 1: the target is a string.
ModuleResult<Outcome> resolve_string(const Match& match, const std::string& target) {
    if (!target.starts_with("./")) {
        bool may_be_outside = match.table == Table::Imports && !target.starts_with("../") &&
                              !target.starts_with('/') && !target.empty();
        std::string_view scheme = scheme_of(target);
        if (!may_be_outside || (!scheme.empty() && scheme != "weft" && scheme != "node")) {
            return invalid_target(match, target);
        }
        return Outcome{kFound, {{}, match.stars ? replace_stars(target, *match.stars) : target}};
    }
    if (has_forbidden_segment(std::string_view(target).substr(2))) {
        return invalid_target(match, target);
    }
    std::string inside = target.substr(1);
    if (match.stars) {
        if (has_forbidden_segment(*match.stars)) {
            return module_error(
                Code::InvalidSpecifier,
                format("\"{}\" would put \"{}\" for the \"*\" of \"{}\" in \"{}\" of "
                       "{}/package.json",
                       replace_stars(match.key, *match.stars), *match.stars, match.key,
                       name_of(match.table), match.package.folder));
        }
        inside = replace_stars(inside, *match.stars);
    }
    std::optional<std::string> path = percent_decoded(inside);
    if (!path) return invalid_target(match, target);
    return Outcome{kFound, {std::string(match.package.folder) + *path, {}}};
}

bool is_index(std::string_view key) {
    return !key.empty() && std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
}

bool holds(const PackageQuery& package, const std::string& condition) {
    return condition == "default" ||
           std::ranges::find(package.conditions, condition) != package.conditions.end();
}

ModuleResult<Outcome> resolve_target(const Match& match, const Json& target);

// Step 2: conditions, in the order in which they are written.
ModuleResult<Outcome> resolve_conditions(const Match& match, const Json& target) {
    if (std::ranges::any_of(target.keys, is_index)) {
        return module_error(Code::InvalidPackage,
                            format("\"{}\" of {}/package.json has a number for a condition",
                                   name_of(match.table), match.package.folder));
    }
    WEFT_ASSERT(target.keys.size() == target.items.size(), "each key of an object has a value");
    for (std::size_t at = 0; at < target.keys.size(); ++at) {
        if (!holds(match.package, target.keys[at])) continue;
        ModuleResult<Outcome> outcome = resolve_target(match, target.items[at]);
        if (!outcome || outcome->state != kUndefined) return outcome;
    }
    return Outcome{};
}

// Step 3: the first valid target; whether the file exists does not matter.
ModuleResult<Outcome> resolve_list(const Match& match, const Json& target) {
    ModuleResult<Outcome> last = Outcome{kNull, {}};
    for (const Json& item : target.items) {
        ModuleResult<Outcome> outcome = resolve_target(match, item);
        if (!outcome && outcome.error().code != Code::InvalidTarget) return outcome;
        if (outcome && outcome->state == kFound) return outcome;
        if (!outcome || outcome->state == kNull) last = std::move(outcome);
    }
    return last;
}

// PACKAGE_TARGET_RESOLVE. The recursion is limited by the depth of the tree, Json::kDepthMax.
ModuleResult<Outcome> resolve_target(const Match& match, const Json& target) {
    switch (target.kind) {
    case Json::Kind::String: return resolve_string(match, target.text);
    case Json::Kind::Object: return resolve_conditions(match, target);
    case Json::Kind::Array: return resolve_list(match, target);
    case Json::Kind::Null: return Outcome{kNull, {}};
    default: return invalid_target(match, "a value that is no path");
    }
}

// PATTERN_KEY_COMPARE: the key with more text before the star comes first, then the longer key.
bool is_more_specific(std::string_view a, std::string_view b) {
    std::size_t star_a = a.find('*');
    std::size_t star_b = b.find('*');
    return star_a != star_b ? star_a > star_b : a.size() > b.size();
}

// The part of the name that the star of the key matches; empty if the key does not match.
std::optional<std::string_view> star_of(std::string_view key, std::string_view name) {
    std::size_t star = key.find('*');
    WEFT_ASSERT(star != std::string_view::npos, "the key of a pattern has a star");
    std::string_view before = key.substr(0, star);
    std::string_view behind = key.substr(star + 1);
    if (name.size() <= before.size() || !name.starts_with(before)) return {};
    if (!behind.empty() && (name.size() < key.size() || !name.ends_with(behind))) return {};
    WEFT_ASSERT(before.size() + behind.size() < name.size(), "a star stands for some text");
    return name.substr(before.size(), name.size() - before.size() - behind.size());
}

// PACKAGE_IMPORTS_EXPORTS_RESOLVE
ModuleResult<Outcome> resolve_in_table(const PackageQuery& package, Table table,
                                       std::string_view name, const Json& targets) {
    if (name.ends_with('/')) return Outcome{kNull, {}};
    const Json* exact = name.contains('*') ? nullptr : targets.find(name);
    if (exact != nullptr) return resolve_target({package, table, name, {}}, *exact);
    std::vector<std::string_view> patterns;
    for (const std::string& key : targets.keys) {
        if (std::ranges::count(key, '*') == 1) patterns.push_back(key);
    }
    std::ranges::stable_sort(patterns, is_more_specific);
    for (std::string_view key : patterns) {
        if (std::optional<std::string_view> stars = star_of(key, name)) {
            return resolve_target({package, table, key, stars}, *targets.find(key));
        }
    }
    return Outcome{kNull, {}};
}

std::string listed(std::span<const std::string> words) {
    constexpr std::size_t kShown = 12;
    std::string text;
    for (std::size_t at = 0; at < words.size() && at < kShown; ++at) {
        text += at == 0 ? "" : ", ";
        text += words[at];
    }
    if (words.size() > kShown) text += format(" and {} more", words.size() - kShown);
    return text;
}

std::unexpected<ModuleError> not_exported(const PackageQuery& package, std::string_view subpath,
                                          const Json& exports) {
    bool has_subpaths = !exports.keys.empty() && exports.keys.front().starts_with('.');
    std::string hint = has_subpaths ? format("It offers: {}", listed(exports.keys)) : "";
    return module_error(
        Code::NotExported,
        format("{}/package.json does not offer \"{}\" in its \"exports\" (conditions: {}, default)",
               package.folder, subpath, listed(package.conditions)),
        std::move(hint));
}

}  // namespace

// PACKAGE_EXPORTS_RESOLVE
ModuleResult<PackageTarget> resolve_exports(const PackageQuery& package, std::string_view subpath,
                                            const Json& exports) {
    WEFT_ASSERT(subpath == "." || subpath.starts_with("./"), "a subpath is below its package");
    auto is_subpath = [](const std::string& key) { return key.starts_with('.'); };
    bool is_object = exports.is(Json::Kind::Object);
    bool has_subpaths = is_object && std::ranges::any_of(exports.keys, is_subpath);
    if (has_subpaths && !std::ranges::all_of(exports.keys, is_subpath)) {
        return module_error(Code::InvalidPackage,
                            format("\"exports\" of {}/package.json mixes paths, which begin with "
                                   "\".\", and conditions, which do not",
                                   package.folder));
    }
    ModuleResult<Outcome> outcome = Outcome{};
    if (subpath == ".") {
        const Json* target = has_subpaths ? exports.find(".") : &exports;
        if (target != nullptr) {
            outcome = resolve_target({package, Table::Exports, ".", {}}, *target);
        }
    } else if (has_subpaths) {
        outcome = resolve_in_table(package, Table::Exports, subpath, exports);
    }
    if (!outcome) return std::unexpected(outcome.error());
    if (outcome->state != kFound) return not_exported(package, subpath, exports);
    return std::move(outcome->target);
}

// PACKAGE_IMPORTS_RESOLVE, steps 4 and 5
ModuleResult<PackageTarget> resolve_imports(const PackageQuery& package, std::string_view name,
                                            const Json& imports) {
    WEFT_ASSERT(name.starts_with('#'), "names of \"imports\" begin with #");
    ModuleResult<Outcome> outcome = Outcome{};
    if (imports.is(Json::Kind::Object)) {
        outcome = resolve_in_table(package, Table::Imports, name, imports);
    }
    if (!outcome) return std::unexpected(outcome.error());
    if (outcome->state == kFound) return std::move(outcome->target);
    std::string hint = imports.keys.empty() ? "" : format("It has: {}", listed(imports.keys));
    return module_error(Code::NotDefined,
                        format("{}/package.json does not define \"{}\" in its \"imports\" "
                               "(conditions: {}, default)",
                               package.folder, name, listed(package.conditions)),
                        std::move(hint));
}

}  // namespace weft::js
