// Header fields in the form that C++ and scripts exchange: a flat list of name, value, name, value.
//
// Field names and values are bytes, which scripts see as Latin-1. Owning isolate only.
#pragma once

#include <v8.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "weft/http/headers.h"
#include "weft/js/binding.h"

namespace weft::api {

v8::Local<v8::String> from_latin1(v8::Isolate* isolate, std::string_view text);
std::string to_latin1(v8::Isolate* isolate, v8::Local<v8::String> string);

v8::Local<v8::Array> to_flat(v8::Isolate* isolate, const http::Headers& headers);
// All fields as one string, which is much cheaper than a string for each: the values one after
// another, each preceded by its name, in lower case, unless known_names.h has the name. The
// Uint32Array argument at `places` receives the number of fields and, for each, the number of its
// name, the end of its name and the end of its value. The result of to_flat() if it is too short.
v8::Local<v8::Value> to_packed(js::Call& call, int places, const http::Headers& headers);
// Leaves out the fields that concern one connection only: the server and the client set their own,
// and those of another connection must not be forwarded. RFC 9110 §7.6.1
http::Headers from_flat(v8::Local<v8::Context> context, v8::Local<v8::Array> flat);

// The value of a field among the arguments of a call; `name` is in lower case.
std::optional<std::string> field_among(js::Call& call, int first, std::string_view name);

// A cache of the texts of fields whose names and values come repeatedly as the same V8 strings,
// such as literals in a script. Owning isolate only; it must end before the isolate.
class KnownFields {
public:
    // Adds the arguments of a call from `first` on, alternately name and value, as from_flat()
    // would.
    void add_all(js::Call& call, int first, http::Headers& headers);

private:
    // Returns false, without adding it, for a field that concerns one connection only.
    bool add(v8::Isolate* isolate, v8::Local<v8::String> name, v8::Local<v8::String> value,
             http::Headers& headers);

    struct Field {
        v8::Global<v8::String> name;
        v8::Global<v8::String> value;
        std::string name_text;
        std::string value_text;
        bool is_added = false;
    };
    static constexpr std::size_t kFields = 8;
    static constexpr std::size_t kValueBytesMax = 256;
    // An entry is replaced only after this many misses, so that fields whose values are always new
    // do not evict the others.
    static constexpr std::size_t kMissesForPlace = 16;

    std::array<Field, kFields> fields_;
    std::size_t misses_ = 0;
};

}  // namespace weft::api
