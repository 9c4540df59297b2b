// Header fields between C++ and script: a flat list, name, value, name, value.
//
// Field names and values are bytes, which script sees as Latin-1. Owning isolate only.
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
// Without those that are about one connection: they are the server's and the client's own, and what
// came over another connection is not passed on. RFC 9110 §7.6.1
http::Headers from_flat(v8::Local<v8::Context> context, v8::Local<v8::Array> flat);

// The value of a field among the arguments of a call; `name` in lower case.
std::optional<std::string> field_among(js::Call& call, int first, std::string_view name);

// Fields that come again and again as the same strings, as those do that stand in a script: their
// texts are read once. Owning isolate only, which it ends before.
class KnownFields {
public:
    // The arguments of a call from `first` on, name and value in turn, as from_flat() would add
    // them.
    void add_all(js::Call& call, int first, http::Headers& headers);

private:
    // False: it is of one connection, and not added.
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
    // Fields whose values are new each time do not push the others out.
    static constexpr std::size_t kMissesForPlace = 16;

    std::array<Field, kFields> fields_;
    std::size_t misses_ = 0;
};

}  // namespace weft::api
