#include "weft/app/config_reader.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "weft/app/nearest.h"
#include "weft/base/format.h"

namespace weft::app {
namespace {

std::string under(const std::string& key, std::string_view name) {
    return key.empty() ? std::string(name) : format("{}.{}", key, name);
}

std::string shown_value(const JsonValue& value) {
    switch (value.kind) {
    case JsonValue::Kind::Array:
    case JsonValue::Kind::Object: return std::string(name_of(value.kind));
    case JsonValue::Kind::String: return shown(value.text);
    default: return value.text;
    }
}

}  // namespace

std::string shown(std::string_view text) {
    constexpr std::size_t kShownBytes = 40;
    // It may be a URL or keywords of a connection string, or a part of one.
    bool may_be_place = text.find_first_of("=@") != std::string_view::npos ||
                        text.find("://") != std::string_view::npos;
    if (may_be_place) return "a text";
    return format("\"{}\"", text.substr(0, kShownBytes));
}

void ConfigReader::fail(Place place, std::string key, std::string message) {
    errors_.push_back({place, std::move(key), std::move(message)});
}

bool ConfigReader::expect(const Keyed& at, JsonValue::Kind kind) {
    if (at.value.kind == kind) return true;
    fail(at, format("must be {}, not {}", name_of(kind), shown_value(at.value)));
    return false;
}

void ConfigReader::object(const Keyed& at, std::initializer_list<Field> fields) {
    if (!expect(at, JsonValue::Kind::Object)) return;
    std::vector<std::string_view> names;
    for (const Field& field : fields) names.push_back(field.name);
    for (std::size_t index = 0; index < at.value.keys.size(); ++index) {
        const std::string& key = at.value.keys[index];
        auto field = std::ranges::find(fields, key, &Field::name);
        if (field != fields.end()) {
            field->take({at.value.items[index], under(at.key, key)});
            continue;
        }
        std::string_view meant = nearest(key, names);
        std::string message = "there is no such key";
        if (!meant.empty()) {
            message += format("; did you mean \"{}\"?", meant);
        } else {
            message += "; there are:";
            for (std::string_view name : names) message += format(" {}", name);
        }
        fail(at.value.key_places[index], under(at.key, key), message);
    }
    for (const Field& field : fields) {
        bool is_missing = std::ranges::find(at.value.keys, field.name) == at.value.keys.end();
        if (is_missing && field.presence == Field::Presence::Required) {
            fail(at.value.place, under(at.key, field.name), "is missing");
        }
    }
}

void ConfigReader::members(const Keyed& at,
                           const std::function<void(const std::string& name, const Keyed&)>& each) {
    if (!expect(at, JsonValue::Kind::Object)) return;
    for (std::size_t index = 0; index < at.value.keys.size(); ++index) {
        const std::string& key = at.value.keys[index];
        each(key, {at.value.items[index], under(at.key, key)});
    }
}

void ConfigReader::list(const Keyed& at, const std::function<void(const Keyed&)>& each) {
    if (!expect(at, JsonValue::Kind::Array)) return;
    for (std::size_t index = 0; index < at.value.items.size(); ++index) {
        each({at.value.items[index], format("{}[{}]", at.key, index)});
    }
}

std::optional<std::string> ConfigReader::text(const Keyed& at) {
    if (!expect(at, JsonValue::Kind::String)) return {};
    if (at.value.text.empty()) {
        fail(at, "must not be empty");
        return {};
    }
    if (at.value.text.contains('\0')) {
        fail(at, "must not have a zero byte in it");
        return {};
    }
    return at.value.text;
}

std::optional<bool> ConfigReader::flag(const Keyed& at) {
    if (!expect(at, JsonValue::Kind::Boolean)) return {};
    return at.value.flag;
}

std::optional<std::uint64_t> ConfigReader::number(const Keyed& at, std::uint64_t least,
                                                  std::uint64_t most) {
    double number = at.value.number;
    if (at.value.kind == JsonValue::Kind::Number && std::floor(number) == number &&
        number >= static_cast<double>(least) && number <= static_cast<double>(most)) {
        return static_cast<std::uint64_t>(number);
    }
    fail(at, format("must be a whole number from {} to {}, not {}", least, most,
                    shown_value(at.value)));
    return {};
}

std::vector<ConfigError> ConfigReader::take_errors() {
    std::ranges::stable_sort(errors_, {}, [](const ConfigError& error) {
        return std::tuple(error.place.line, error.place.column);
    });
    return std::move(errors_);
}

}  // namespace weft::app
