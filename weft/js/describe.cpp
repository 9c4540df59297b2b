#include "weft/js/describe.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "weft/base/assert.h"

namespace weft::js {
namespace {

// Longer lines are cut off in code frames: generated code has lines of megabytes.
constexpr std::size_t kLineBytesMax = 200;

// How many of the errors of an AggregateError are described.
constexpr std::uint32_t kPartsShownMax = 8;

// How deep the causes and the parts of an error are described.
constexpr int kDepthMax = 4;

// The name of a kind as programs compare it: "not found" becomes "NotFound".
std::string code_of(ErrorKind kind) {
    std::string code;
    bool upper = true;
    for (char letter : to_string(kind)) {
        if (letter == ' ') {
            upper = true;
            continue;
        }
        code +=
            upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
        upper = false;
    }
    return code;
}

// A place in a script, and the text of its line.
struct Place {
    std::string script;
    int line = 0;
    int column = 0;
    std::string text;
};

bool is_prelude(std::string_view script) { return script.starts_with("weft:"); }

std::string line_of(const std::string& source, int line) {
    std::size_t start = 0;
    for (int at = 1; at < line; ++at) {
        start = source.find('\n', start);
        if (start == std::string::npos) return {};
        ++start;
    }
    return source.substr(start, source.find('\n', start) - start);
}

// Where the error was thrown. If that is in the prelude, whose lines tell the application's author
// nothing, it is the innermost frame of the application instead.
Place place_of(v8::Isolate* isolate, v8::Local<v8::Context> context,
               v8::Local<v8::Message> message) {
    v8::Local<v8::Value> resource = message->GetScriptResourceName();
    Place place{.script = resource->IsString() ? to_text(isolate, resource) : std::string(),
                .line = message->GetLineNumber(context).FromMaybe(0),
                .column = message->GetStartColumn(context).FromMaybe(0),
                .text = {}};
    v8::Local<v8::StackTrace> stack = message->GetStackTrace();
    int frames = stack.IsEmpty() || !(place.script.empty() || is_prelude(place.script))
                     ? 0
                     : stack->GetFrameCount();
    for (int at = 0; at < frames; ++at) {
        v8::Local<v8::StackFrame> frame = stack->GetFrame(isolate, static_cast<std::uint32_t>(at));
        v8::Local<v8::String> name = frame->GetScriptName();
        v8::Local<v8::String> source = frame->GetScriptSource();
        if (name.IsEmpty() || source.IsEmpty() || is_prelude(to_text(isolate, name))) continue;
        return {.script = to_text(isolate, name),
                .line = frame->GetLineNumber(),
                .column = frame->GetColumn() - 1,
                .text = line_of(to_text(isolate, source), frame->GetLineNumber())};
    }
    v8::Local<v8::String> text;
    if (message->GetSourceLine(context).ToLocal(&text)) place.text = to_text(isolate, text);
    return place;
}

std::string code_frame(v8::Isolate* isolate, v8::Local<v8::Context> context,
                       v8::Local<v8::Message> message) {
    if (message.IsEmpty()) return {};
    auto [script, line, column, text] = place_of(isolate, context, message);
    if (line <= 0 || script.empty()) return {};
    std::string frame =
        script + ":" + std::to_string(line) + ":" + std::to_string(column + 1) + "\n";
    if (text.empty()) return frame;
    if (text.size() > kLineBytesMax) {
        if (static_cast<std::size_t>(column) >= kLineBytesMax) return frame;
        text.resize(kLineBytesMax);
    }
    std::string caret(static_cast<std::size_t>(std::max(column, 0)), ' ');
    // Tabs are kept in front of the caret, so that it stands below its column.
    for (std::size_t at = 0; at < caret.size() && at < text.size(); ++at)
        if (text[at] == '\t') caret[at] = '\t';
    return frame + text + "\n" + caret + "^\n";
}

// The property's value; undefined if reading it throws.
v8::Local<v8::Value> read(v8::Isolate* isolate, v8::Local<v8::Context> context,
                          v8::Local<v8::Object> object, std::string_view name) {
    v8::TryCatch ignored(isolate);
    v8::Local<v8::Value> value;
    if (object->Get(context, to_v8(isolate, name)).ToLocal(&value)) return value;
    return v8::Undefined(isolate);
}

// The text of a thrown object that is not an error: JSON, because "[object Object]" says nothing.
std::string text_of_thrown(v8::Isolate* isolate, v8::Local<v8::Context> context,
                           v8::Local<v8::Object> object) {
    v8::TryCatch ignored(isolate);
    v8::Local<v8::String> text;
    if (object->IsFunction() || !v8::JSON::Stringify(context, object).ToLocal(&text))
        return to_text(isolate, object);
    return to_text(isolate, text);
}

std::string text_of_error(v8::Isolate* isolate, v8::Local<v8::Context> context,
                          v8::Local<v8::Value> error, int depth);

// The errors of an AggregateError, each on lines of its own.
std::string text_of_parts(v8::Isolate* isolate, v8::Local<v8::Context> context,
                          v8::Local<v8::Object> error, int depth) {
    v8::Local<v8::Value> errors = read(isolate, context, error, "errors");
    if (!error->IsNativeError() || !errors->IsArray()) return {};
    v8::Local<v8::Array> parts = errors.As<v8::Array>();
    std::string text;
    std::uint32_t shown = std::min(parts->Length(), kPartsShownMax);
    for (std::uint32_t at = 0; at < shown; ++at) {
        v8::TryCatch ignored(isolate);
        v8::Local<v8::Value> part;
        if (!parts->Get(context, at).ToLocal(&part)) continue;
        text += "\n  because of: " + text_of_error(isolate, context, part, depth + 1);
    }
    if (shown < parts->Length())
        text += "\n  and of " + std::to_string(parts->Length() - shown) + " more";
    return text;
}

std::string text_of_error(v8::Isolate* isolate, v8::Local<v8::Context> context,
                          v8::Local<v8::Value> error, int depth) {
    WEFT_DASSERT(depth <= kDepthMax, "causes and parts are followed no deeper");
    if (!error->IsObject()) return "Uncaught " + to_text(isolate, error);
    v8::Local<v8::Object> object = error.As<v8::Object>();
    v8::Local<v8::Value> stack = read(isolate, context, object, "stack");
    if (!object->IsNativeError() && !stack->IsString())
        return "Uncaught " + text_of_thrown(isolate, context, object);
    std::string text = stack->IsString() && stack.As<v8::String>()->Length() > 0
                           ? to_text(isolate, stack)
                           : to_text(isolate, error);
    if (depth >= kDepthMax) return text;
    text += text_of_parts(isolate, context, object, depth);
    v8::Local<v8::Value> cause = read(isolate, context, object, "cause");
    if (cause->IsUndefined()) return text;
    return text + "\n  caused by: " + text_of_error(isolate, context, cause, depth + 1);
}

}  // namespace

v8::Local<v8::String> to_v8(v8::Isolate* isolate, std::string_view text) {
    v8::Local<v8::String> made;
    if (v8::String::NewFromUtf8(isolate, text.data(), v8::NewStringType::kInternalized,
                                static_cast<int>(text.size()))
            .ToLocal(&made))
        return made;
    return v8::String::Empty(isolate);
}

std::string to_text(v8::Isolate* isolate, v8::Local<v8::Value> value) {
    v8::TryCatch ignored(isolate);
    if (value->IsSymbol()) value = value.As<v8::Symbol>()->Description(isolate);
    v8::String::Utf8Value text(isolate, value);
    if (*text) return std::string(*text, static_cast<std::size_t>(text.length()));
    return "(a value that cannot be made a text)";
}

std::string describe_error(v8::Isolate* isolate, v8::Local<v8::Context> context,
                           v8::Local<v8::Value> error, v8::Local<v8::Message> message) {
    v8::TryCatch ignored(isolate);
    return code_frame(isolate, context, message) + text_of_error(isolate, context, error, 0);
}

v8::Local<v8::Value> to_exception(v8::Isolate* isolate, const Error& error) {
    v8::Local<v8::Value> made = v8::Exception::Error(to_v8(isolate, error.message()));
    v8::Local<v8::Context> context = isolate->GetCurrentContext();
    v8::TryCatch ignored(isolate);
    seen_by_turn(made.As<v8::Object>()->Set(context, to_v8(isolate, "code"),
                                            to_v8(isolate, code_of(error.kind()))));
    return made;
}

}  // namespace weft::js
