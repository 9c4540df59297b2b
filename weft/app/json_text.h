// JsonValue: JSON with the place of everything in it, for messages that point at a line.
//
// Of nlohmann's reader only its events are used: from 3.12 on it knows places itself, Debian has
// older ones. A key that stands twice in an object is an error, because whoever wrote it meant
// both. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace weft::app {

struct Place {
    std::size_t line = 1;    // from 1
    std::size_t column = 1;  // from 1, in bytes
    friend bool operator==(const Place&, const Place&) = default;
};

struct JsonValue {
    enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };
    static constexpr std::size_t kDepthMax = 32;

    Kind kind = Kind::Null;
    Place place;
    bool flag = false;
    double number = 0;
    std::string text;              // of a string; of other simple values, as they were written
    std::vector<JsonValue> items;  // of an array, and of an object's members
    std::vector<std::string> keys;
    std::vector<Place> key_places;
};

// "a whole number", "a list": for messages.
std::string_view name_of(JsonValue::Kind kind);

struct JsonError {
    Place place;
    std::string message;
};

std::expected<JsonValue, JsonError> read_json(std::string_view text);

}  // namespace weft::app
