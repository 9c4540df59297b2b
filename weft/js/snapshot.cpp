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
                        v8::Local<v8::Object> native, v8::Local<v8::Object> realm) {
    v8::Isolate* isolate = context->GetIsolate();
    v8::TryCatch caught(isolate);
    // On the first line, so that the lines of the script keep their numbers.
    std::string strict = "\"use strict\";" + std::string(script.source);
    v8::Local<v8::String> source =
        v8::String::NewFromUtf8(isolate, strict.data(), v8::NewStringType::kNormal,
                                static_cast<int>(strict.size()))
            .ToLocalChecked();
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

const std::intptr_t* external_references(std::span<const Binding> bindings) {
    static std::mutex lock;
    static std::map<const Binding*, std::vector<std::intptr_t>> lists;
    std::lock_guard guard(lock);
    auto [entry, fresh] = lists.try_emplace(bindings.data());
    if (fresh) {
        for (const Binding& binding : bindings)
            entry->second.push_back(reinterpret_cast<std::intptr_t>(binding.callback));
        entry->second.push_back(0);
    }
    WEFT_ASSERT(entry->second.size() == bindings.size() + 1, "a table of bindings never changes");
    return entry->second.data();
}

Result<v8::Local<v8::Object>> run_prelude(v8::Local<v8::Context> context,
                                          std::span<const Binding> bindings,
                                          std::span<const PreludeScript> scripts) {
    v8::Isolate* isolate = context->GetIsolate();
    v8::EscapableHandleScope handles(isolate);
    v8::Local<v8::Object> native = make_native(context, bindings);
    v8::Local<v8::Object> realm = v8::Object::New(isolate, v8::Null(isolate), nullptr, nullptr, 0);
    for (const PreludeScript& script : scripts)
        WEFT_TRY(run_script(context, script, native, realm));
    return handles.Escape(realm);
}

Result<std::vector<char>> make_snapshot(std::span<const Binding> bindings,
                                        std::span<const PreludeScript> scripts) {
    Platform& platform = Platform::start(nullptr);
    v8::Isolate* isolate = v8::Isolate::Allocate();
    platform.add_isolate(isolate)->set_notify([] {});
    v8::SnapshotCreator creator(isolate, external_references(bindings));
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
