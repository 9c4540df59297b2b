// JsonValue: JSON with the place of each value, for messages that name a line.
//
// nlohmann's parser is used through its events and the places are computed here: it provides places
// only from 3.12 on, and Debian has older versions. A duplicate key in an object is an error,
// because its author meant both. Values; any thread.
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
    std::string text;              // of a string; of other simple values, as written in the file
    std::vector<JsonValue> items;  // the items of an array, or the values of an object
    std::vector<std::string> keys;
    std::vector<Place> key_places;
};

// The kind for messages: "a text", "a list".
std::string_view name_of(JsonValue::Kind kind);

struct JsonError {
    Place place;
    std::string message;
};

std::expected<JsonValue, JsonError> read_json(std::string_view text);

}  // namespace weft::app
