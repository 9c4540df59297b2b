// ConfigReader: takes values out of JSON and collects all errors in them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/app/config.h"
#include "weft/app/json_text.h"
#include "weft/base/function.h"

namespace weft::app {

// The text in quotes, for messages; or "a text" if it may be a connection string with a password.
std::string shown(std::string_view text);

// A value, and its key for messages: "apps[0].entry".
struct Keyed {
    const JsonValue& value;
    std::string key;
};

class ConfigReader {
public:
    struct Field {
        std::string_view name;
        std::function<void(const Keyed&)> take;
        enum class Presence : std::uint8_t { Optional, Required } presence = Presence::Optional;
    };

    void fail(const Keyed& at, std::string message) { fail(at.value.place, at.key, message); }
    void fail(Place place, std::string key, std::string message);

    // Calls the field's function for each key; other keys are errors.
    void object(const Keyed& at, std::initializer_list<Field> fields);
    // Calls `each` for every member, whatever its key.
    void members(const Keyed& at,
                 const std::function<void(const std::string& name, const Keyed&)>& each);
    void list(const Keyed& at, const std::function<void(const Keyed&)>& each);
    std::optional<std::string> text(const Keyed& at);  // not empty
    std::optional<bool> flag(const Keyed& at);
    std::optional<std::uint64_t> number(const Keyed& at, std::uint64_t least, std::uint64_t most);

    std::vector<ConfigError> take_errors();

private:
    bool expect(const Keyed& at, JsonValue::Kind kind);

    std::vector<ConfigError> errors_;
};

}  // namespace weft::app
