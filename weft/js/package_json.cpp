#include "weft/js/package_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/base/assert.h"

namespace weft::js {
namespace {

// Builds the tree from the parser's events, with an explicit stack, whose depth is limited.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() override { return add(Json{Json::Kind::Null, {}, {}, {}}); }
    bool boolean(bool) override { return add(Json{Json::Kind::Boolean, {}, {}, {}}); }
    bool number_integer(number_integer_t) override { return add_number(); }
    bool number_unsigned(number_unsigned_t) override { return add_number(); }
    bool number_float(number_float_t, const string_t&) override { return add_number(); }
    bool binary(binary_t&) override { return false; }
    bool string(string_t& text) override {
        return add(Json{Json::Kind::String, std::move(text), {}, {}});
    }
    bool start_object(std::size_t) override { return open(Json::Kind::Object); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(Json::Kind::Array); }
    bool end_array() override { return close(); }
    bool key(string_t& text) override {
        WEFT_ASSERT(!open_.empty() && open_.back().value.is(Json::Kind::Object),
                    "only members of an object have keys");
        open_.back().key = std::move(text);
        return true;
    }
    bool parse_error(std::size_t, const std::string&,
                     const nlohmann::detail::exception& error) override {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
        std::string_view text = error.what();
        constexpr std::string_view kBefore = "parse error at ";
        std::size_t at = text.find(kBefore);
        error_ = at == std::string_view::npos ? text : text.substr(at + kBefore.size());
        return false;
    }

    std::expected<Json, std::string> take() {
        if (!error_.empty()) return std::unexpected(error_);
        WEFT_ASSERT(open_.empty(), "a text without an error closes what it opens");
        return std::move(root_);
    }

private:
    struct Open {
        Json value;
        std::string key;  // of the next member
    };

    bool add_number() { return add(Json{Json::Kind::Number, {}, {}, {}}); }
    bool open(Json::Kind kind) {
        if (open_.size() == Json::kDepthMax) {
            error_ = "nested more deeply than " + std::to_string(Json::kDepthMax) +
                     " values (Json::kDepthMax)";
            return false;
        }
        open_.push_back(Open{Json{kind, {}, {}, {}}, {}});
        return true;
    }
    bool close() {
        WEFT_ASSERT(!open_.empty(), "only what was opened is closed");
        Json value = std::move(open_.back().value);
        open_.pop_back();
        return add(std::move(value));
    }
    bool add(Json value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return true;
        }
        Json& parent = open_.back().value;
        if (parent.is(Json::Kind::Array)) {
            parent.items.push_back(std::move(value));
            return true;
        }
        auto same = std::ranges::find(parent.keys, open_.back().key);
        if (same != parent.keys.end()) {
            parent.items[static_cast<std::size_t>(same - parent.keys.begin())] = std::move(value);
            return true;
        }
        parent.keys.push_back(std::move(open_.back().key));
        parent.items.push_back(std::move(value));
        WEFT_DASSERT(parent.keys.size() == parent.items.size(), "keys[i] is the key of items[i]");
        return true;
    }

    std::vector<Open> open_;
    Json root_;
    std::string error_;
};

std::optional<std::string> string_member(const Json& object, std::string_view key) {
    const Json* found = object.find(key);
    if (found == nullptr || !found->is(Json::Kind::String)) return {};
    return found->text;
}

Json member(const Json& object, std::string_view key) {
    const Json* found = object.find(key);
    return found == nullptr || found->is(Json::Kind::Null) ? Json{} : *found;
}

}  // namespace

const Json* Json::find(std::string_view key) const {
    WEFT_DASSERT(keys.empty() || keys.size() == items.size(), "keys[i] is the key of items[i]");
    auto found = std::ranges::find(keys, key);
    return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::expected<Json, std::string> parse_json(std::string_view text) {
    TreeBuilder builder;
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
}

std::expected<PackageJson, std::string> parse_package_json(std::string_view text) {
    std::expected<Json, std::string> root = parse_json(text);
    if (!root) return std::unexpected(root.error());
    if (!root->is(Json::Kind::Object)) return std::unexpected("it is not an object");
    PackageJson package{
        .name = string_member(*root, "name"),
        .type = string_member(*root, "type"),
        .main = string_member(*root, "main"),
        .module = string_member(*root, "module"),
        .exports = member(*root, "exports"),
        .imports = member(*root, "imports"),
        .dependencies = {},
    };
    for (const char* key :
         {"dependencies", "devDependencies", "peerDependencies", "optionalDependencies"}) {
        const Json* names = root->find(key);
        if (names == nullptr) continue;
        package.dependencies.insert(package.dependencies.end(), names->keys.begin(),
                                    names->keys.end());
    }
    return package;
}

}  // namespace weft::js
