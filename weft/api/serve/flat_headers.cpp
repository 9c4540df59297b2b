#include "weft/api/serve/flat_headers.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "weft/api/headers/known_names.h"
#include "weft/http/wire/characters.h"

namespace weft::api {
namespace {

constexpr std::string_view kConnection = "connection";
// What the fields of most requests fit into.
constexpr std::size_t kPackedBytes = 2048;

// Whether the field determines how a message is framed, or concerns one connection only.
bool is_of_connection(std::string_view name) {
    static constexpr std::array<std::string_view, 11> kNames = {
        "connection", "content-length",      "expect",           "host",
        "keep-alive", "proxy-authorization", "proxy-connection", "te",
        "trailer",    "transfer-encoding",   "upgrade"};
    return std::ranges::any_of(
        kNames, [&](std::string_view known) { return http::equal_without_case(name, known); });
}

// RFC 9110 §7.6.1: who forwards a message MUST remove the fields that its Connection field names.
void remove_named(std::string_view connection, http::Headers& headers) {
    while (!connection.empty()) {
        std::size_t comma = std::min(connection.find(','), connection.size());
        std::string_view name = connection.substr(0, comma);
        connection.remove_prefix(std::min(comma + 1, connection.size()));
        std::size_t begin = std::min(name.find_first_not_of(" \t"), name.size());
        name.remove_prefix(begin);
        name = name.substr(0, name.find_last_not_of(" \t") + 1);
        if (!name.empty()) headers.remove(name);
    }
}

}  // namespace

v8::Local<v8::String> from_latin1(v8::Isolate* isolate, std::string_view text) {
    return v8::String::NewFromOneByte(isolate, reinterpret_cast<const std::uint8_t*>(text.data()),
                                      v8::NewStringType::kNormal, static_cast<int>(text.size()))
        .ToLocalChecked();
}

std::string to_latin1(v8::Isolate* isolate, v8::Local<v8::String> string) {
    std::string text(static_cast<std::size_t>(string->Length()), '\0');
    string->WriteOneByte(isolate, reinterpret_cast<std::uint8_t*>(text.data()), 0,
                         static_cast<int>(text.size()), v8::String::NO_NULL_TERMINATION);
    return text;
}

v8::Local<v8::Array> to_flat(v8::Isolate* isolate, const http::Headers& headers) {
    std::vector<v8::Local<v8::Value>> flat;
    flat.reserve(headers.size() * 2);
    for (const http::Headers::Field& field : headers) {
        flat.push_back(from_latin1(isolate, field.name));
        flat.push_back(from_latin1(isolate, field.value));
    }
    return v8::Array::New(isolate, flat.data(), flat.size());
}

v8::Local<v8::Value> to_packed(js::Call& call, int places, const http::Headers& headers) {
    auto array = call[places].As<v8::Uint32Array>();
    std::size_t room = array->Length();
    if (1 + 3 * headers.size() > room) return to_flat(call.v8(), headers);
    auto* to = reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(array->Buffer()->Data()) +
                                                array->ByteOffset());
    *to++ = static_cast<std::uint32_t>(headers.size());
    char on_stack[kPackedBytes];
    std::string on_heap;
    std::size_t bytes = 0;
    for (const http::Headers::Field& field : headers)
        bytes += field.name.size() + field.value.size();
    if (bytes > kPackedBytes) on_heap.resize(bytes);
    char* begin = bytes > kPackedBytes ? on_heap.data() : on_stack;
    char* end = begin;
    for (const http::Headers::Field& field : headers) {
        std::uint32_t number = number_of_name(field.name);
        if (number == kUnknownName)
            end = std::ranges::transform(field.name, end, http::wire::to_lower).out;
        *to++ = number;
        *to++ = static_cast<std::uint32_t>(end - begin);
        end = std::ranges::copy(field.value, end).out;
        *to++ = static_cast<std::uint32_t>(end - begin);
    }
    return from_latin1(call.v8(), {begin, end});
}

http::Headers from_flat(v8::Local<v8::Context> context, v8::Local<v8::Array> flat) {
    v8::Isolate* isolate = context->GetIsolate();
    http::Headers headers;
    std::string connection;
    for (std::uint32_t i = 0; i + 1 < flat->Length(); i += 2) {
        v8::Local<v8::Value> name;
        v8::Local<v8::Value> value;
        if (!flat->Get(context, i).ToLocal(&name) || !flat->Get(context, i + 1).ToLocal(&value) ||
            !name->IsString() || !value->IsString())
            break;
        std::string text = to_latin1(isolate, name.As<v8::String>());
        if (!is_of_connection(text))
            headers.add(text, to_latin1(isolate, value.As<v8::String>()));
        else if (http::equal_without_case(text, kConnection))
            connection += to_latin1(isolate, value.As<v8::String>()) + ",";
    }
    remove_named(connection, headers);
    return headers;
}

std::optional<std::string> field_among(js::Call& call, int first, std::string_view name) {
    for (int at = first; at + 1 < call.count(); at += 2) {
        if (http::equal_without_case(to_latin1(call.v8(), call[at].As<v8::String>()), name))
            return to_latin1(call.v8(), call[at + 1].As<v8::String>());
    }
    return std::nullopt;
}

void KnownFields::add_all(js::Call& call, int first, http::Headers& headers) {
    bool all = true;
    for (int at = first; at + 1 < call.count(); at += 2)
        all &= add(call.v8(), call[at].As<v8::String>(), call[at + 1].As<v8::String>(), headers);
    if (all) [[likely]]
        return;
    if (auto connection = field_among(call, first, kConnection)) remove_named(*connection, headers);
}

bool KnownFields::add(v8::Isolate* isolate, v8::Local<v8::String> name, v8::Local<v8::String> value,
                      http::Headers& headers) {
    for (const Field& field : fields_) {
        if (field.name != name || field.value != value) continue;
        if (field.is_added) headers.add_checked(field.name_text, field.value_text);
        return field.is_added;
    }
    std::string name_text = to_latin1(isolate, name);
    std::string value_text = to_latin1(isolate, value);
    bool is_added = !is_of_connection(name_text);
    if (is_added) headers.add(name_text, value_text);
    if (value_text.size() > kValueBytesMax || ++misses_ % kMissesForPlace != 0) return is_added;
    if (!http::is_token(name_text) || !http::is_field_value(value_text)) return is_added;
    Field& place = fields_[misses_ / kMissesForPlace % kFields];
    place.name.Reset(isolate, name);
    place.value.Reset(isolate, value);
    place.name_text = std::move(name_text);
    place.value_text = std::move(value_text);
    place.is_added = is_added;
    return is_added;
}

}  // namespace weft::api
