#include "weft/js/snapshot.h"

// tidy: allow-file threads: isolates of several workers may be made at once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/js/describe.h"
#include "weft/js/modules.h"
#include "weft/js/platform.h"

namespace weft::js {
namespace {

// A multiple of the alignment that V8 needs for the snapshot.
constexpr std::size_t kTagBytes = 256;

// The text of a script. All isolates share it, and V8 gives none of them ownership.
class PreludeText final : public v8::String::ExternalOneByteStringResource {
public:
    explicit PreludeText(std::string_view text) : text_(text) {}
    const char* data() const override { return text_.data(); }
    std::size_t length() const override { return text_.size(); }
    void Dispose() override {}

private:
    const std::string_view text_;
};

// What a snapshot may refer to.
struct References {
    std::vector<std::unique_ptr<PreludeText>> texts;  // in the order of the scripts
    std::vector<std::intptr_t> addresses;
};

const References& references_of(std::span<const Binding> bindings,
                                std::span<const PreludeScript> scripts) {
    using Key = std::pair<const Binding*, const PreludeScript*>;
    static std::mutex lock;
    static std::map<Key, References> lists;
    std::lock_guard guard(lock);
    auto [entry, fresh] = lists.try_emplace({bindings.data(), scripts.data()});
    References& references = entry->second;
    if (fresh) {
        for (const Binding& binding : bindings)
            references.addresses.push_back(reinterpret_cast<std::intptr_t>(binding.callback));
        for (const PreludeScript& script : scripts) {
            references.texts.push_back(std::make_unique<PreludeText>(script.source));
            v8::String::ExternalOneByteStringResource* text = references.texts.back().get();
            references.addresses.push_back(reinterpret_cast<std::intptr_t>(text));
        }
        references.addresses.push_back(0);
    }
    WEFT_ASSERT(references.addresses.size() == bindings.size() + scripts.size() + 1,
                "a table of bindings never changes, nor does the list of scripts");
    return references;
}

std::string own_tag() { return format("V8 {} {}", v8::V8::GetVersion(), Platform::kFlags); }

Error failure(v8::Isolate* isolate, v8::Local<v8::Context> context, const v8::TryCatch& caught) {
    return Error(ErrorKind::Other,
                 describe_error(isolate, context, caught.Exception(), caught.Message()));
}

v8::Local<v8::Object> make_native(v8::Local<v8::Context> context,
                                  std::span<const Binding> bindings) {
    v8::Isolate* isolate = context->GetIsolate();
    v8::Local<v8::Object> native = v8::Object::New(isolate);
    for (const Binding& binding : bindings) {
        v8::Local<v8::FunctionTemplate> function = v8::FunctionTemplate::New(
            isolate, binding.callback, v8::Local<v8::Value>(), v8::Local<v8::Signature>(), 0,
            v8::ConstructorBehavior::kThrow);
        bool set = native
                       ->Set(context, to_v8(isolate, binding.name),
                             function->GetFunction(context).ToLocalChecked())
                       .FromMaybe(false);
        WEFT_ASSERT(set, "a plain object takes properties");
    }
    return native;
}

Result<void> run_script(v8::Local<v8::Context> context, const PreludeScript& script,
                        PreludeText& text, v8::Local<v8::Object> native,
                        v8::Local<v8::Object> realm) {
    v8::Isolate* isolate = context->GetIsolate();
    v8::TryCatch caught(isolate);
    v8::Local<v8::String> source = v8::String::NewExternalOneByte(isolate, &text).ToLocalChecked();
    std::string name = "weft:" + std::string(script.name);
    v8::ScriptOrigin origin(isolate, to_v8(isolate, name));
    v8::ScriptCompiler::Source unit(source, origin);
    v8::Local<v8::String> parameters[] = {to_v8(isolate, "native"), to_v8(isolate, "realm")};
    v8::Local<v8::Function> function;
    if (!v8::ScriptCompiler::CompileFunction(context, &unit, 2, parameters, 0, nullptr)
             .ToLocal(&function))
        return failure(isolate, context, caught).with_context("compile", name);
    v8::Local<v8::Value> arguments[] = {native, realm};
    if (function->Call(context, v8::Undefined(isolate), 2, arguments).IsEmpty())
        return failure(isolate, context, caught).with_context("run", name);
    return {};
}

}  // namespace

const std::intptr_t* external_references(std::span<const Binding> bindings,
                                         std::span<const PreludeScript> scripts) {
    return references_of(bindings, scripts).addresses.data();
}

Result<v8::Local<v8::Object>> run_prelude(v8::Local<v8::Context> context,
                                          std::span<const Binding> bindings,
                                          std::span<const PreludeScript> scripts) {
    v8::Isolate* isolate = context->GetIsolate();
    v8::EscapableHandleScope handles(isolate);
    v8::Local<v8::Object> native = make_native(context, bindings);
    v8::Local<v8::Object> realm = v8::Object::New(isolate, v8::Null(isolate), nullptr, nullptr, 0);
    const References& references = references_of(bindings, scripts);
    for (std::size_t i = 0; i < scripts.size(); ++i)
        WEFT_TRY(run_script(context, scripts[i], *references.texts[i], native, realm));
    return handles.Escape(realm);
}

Result<std::vector<char>> make_snapshot(std::span<const Binding> bindings,
                                        std::span<const PreludeScript> scripts) {
    for (const PreludeScript& script : scripts)
        if (!std::ranges::all_of(script.source, [](char c) { return c >= 0; }))
            return Error(ErrorKind::Misuse, format("weft:{} is not ASCII", script.name));
    Platform& platform = Platform::start(nullptr);
    v8::Isolate* isolate = v8::Isolate::Allocate();
    platform.add_isolate(isolate)->set_notify([] {});
    v8::SnapshotCreator creator(isolate, external_references(bindings, scripts));
    {
        v8::HandleScope handles(isolate);
        v8::Local<v8::Context> context = v8::Context::New(isolate);
        v8::Context::Scope scope(context);
        v8::Local<v8::Object> realm = WEFT_TRY(run_prelude(context, bindings, scripts));
        creator.SetDefaultContext(v8::Context::New(isolate));
        std::size_t index = creator.AddContext(context);
        WEFT_ASSERT(index == 0, "the prelude's context is the first");
        std::size_t data = creator.AddData(context, realm);
        WEFT_ASSERT(data == 0, "the realm is the first of its data");
    }
    v8::StartupData blob = creator.CreateBlob(v8::SnapshotCreator::FunctionCodeHandling::kKeep);
    if (!blob.data) return Error(ErrorKind::Other, "V8 could not make a snapshot");
    std::unique_ptr<const char[]> owned(blob.data);
    WEFT_ASSERT(blob.raw_size > 0, "a snapshot has a size");
    std::string tag = own_tag();
    WEFT_ASSERT(tag.size() < kTagBytes, "the tag of a snapshot has its place");
    std::vector<char> tagged(kTagBytes);
    std::ranges::copy(tag, tagged.begin());
    tagged.insert(tagged.end(), blob.data, blob.data + blob.raw_size);
    return tagged;
}

Result<std::span<const char>> read_snapshot(std::span<const char> tagged) {
    std::string_view text(tagged.data(), std::min(tagged.size(), kTagBytes));
    std::string_view tag = text.substr(0, text.find('\0'));
    if (std::string own = own_tag(); tag != own || tagged.size() <= kTagBytes)
        return Error(ErrorKind::Unavailable, format("it was made by {}, and this is {}", tag, own));
    return tagged.subspan(kTagBytes);
}

}  // namespace weft::js
