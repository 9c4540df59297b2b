#include "weft/api/serve/flat_headers.h"

#include <array>
#include <vector>

namespace weft::api {
namespace {

bool frames_message(std::string_view name) {
    static constexpr std::array kNames = {
        std::string_view("content-length"), std::string_view("transfer-encoding"),
        std::string_view("connection"), std::string_view("keep-alive"), std::string_view("host")};
    for (std::string_view known : kNames)
        if (http::equal_without_case(name, known)) return true;
    return false;
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

http::Headers from_flat(v8::Local<v8::Context> context, v8::Local<v8::Array> flat) {
    v8::Isolate* isolate = context->GetIsolate();
    http::Headers headers;
    for (std::uint32_t i = 0; i + 1 < flat->Length(); i += 2) {
        v8::Local<v8::Value> name;
        v8::Local<v8::Value> value;
        if (!flat->Get(context, i).ToLocal(&name) || !flat->Get(context, i + 1).ToLocal(&value) ||
            !name->IsString() || !value->IsString())
            break;
        std::string text = to_latin1(isolate, name.As<v8::String>());
        if (!frames_message(text)) headers.add(text, to_latin1(isolate, value.As<v8::String>()));
    }
    return headers;
}

void KnownFields::add(v8::Isolate* isolate, v8::Local<v8::String> name, v8::Local<v8::String> value,
                      http::Headers& headers) {
    for (const Field& field : fields_) {
        if (field.name != name || field.value != value) continue;
        if (!field.frames) headers.add_checked(field.name_text, field.value_text);
        return;
    }
    std::string name_text = to_latin1(isolate, name);
    std::string value_text = to_latin1(isolate, value);
    bool frames = frames_message(name_text);
    if (!frames) headers.add(name_text, value_text);
    if (value_text.size() > kValueBytesMax || ++misses_ % kMissesForPlace != 0) return;
    if (!http::is_token(name_text) || !http::is_field_value(value_text)) return;
    Field& place = fields_[misses_ / kMissesForPlace % kFields];
    place.name.Reset(isolate, name);
    place.value.Reset(isolate, value);
    place.name_text = std::move(name_text);
    place.value_text = std::move(value_text);
    place.frames = frames;
}

}  // namespace weft::api
