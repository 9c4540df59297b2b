#include "weft/js/modules.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/waiter.h"
#include "weft/js/cjs_exports.h"
#include "weft/js/describe.h"
#include "weft/js/inspector.h"
#include "weft/js/isolate.h"
#include "weft/js/module_url.h"
#include "weft/js/task.h"
#include "weft/js/typescript_file.h"

namespace weft::js {
namespace {

Error thrown(v8::Isolate* isolate, v8::Local<v8::Context> context, const v8::TryCatch& caught) {
    if (caught.HasTerminated())
        return Error(ErrorKind::TimedOut, "the module computed too long and was ended");
    return Error(ErrorKind::Other,
                 describe_error(isolate, context, caught.Exception(), caught.Message()));
}

v8::MaybeLocal<v8::Promise> on_dynamic_import(v8::Local<v8::Context> context, v8::Local<v8::Data>,
                                              v8::Local<v8::Value> resource_name,
                                              v8::Local<v8::String> specifier,
                                              v8::Local<v8::FixedArray>) {
    v8::Isolate* isolate = context->GetIsolate();
    Modules& modules = Isolate::of(isolate).modules();
    // Scripts that the debugger evaluates have no name.
    bool is_named = resource_name->IsString() && resource_name.As<v8::String>()->Length() > 0;
    return modules.import_dynamically(
        specifier, is_named ? to_text(isolate, resource_name) : modules.default_referrer);
}

void on_import_meta(v8::Local<v8::Context> context, v8::Local<v8::Module> module,
                    v8::Local<v8::Object> meta) {
    Isolate::of(context->GetIsolate()).modules().fill_import_meta(module, meta);
}

v8::MaybeLocal<v8::Module> on_link(v8::Local<v8::Context> context, v8::Local<v8::String> specifier,
                                   v8::Local<v8::FixedArray>, v8::Local<v8::Module> referrer) {
    return Isolate::of(context->GetIsolate()).modules().linked(context, specifier, referrer);
}

v8::MaybeLocal<v8::Value> on_synthetic(v8::Local<v8::Context> context,
                                       v8::Local<v8::Module> module) {
    return Isolate::of(context->GetIsolate()).modules().evaluate_synthetic(context, module);
}

std::string path_of_url(const std::string& url) {
    return url.starts_with("file://") ? url.substr(7) : url;
}

}  // namespace

Modules::Modules(Isolate& isolate) : isolate_(isolate), code_(isolate) {
    isolate.v8()->SetHostImportModuleDynamicallyCallback(on_dynamic_import);
    isolate.v8()->SetHostInitializeImportMetaObjectCallback(on_import_meta);
    resolver_ = std::make_unique<Resolver>(files_, ResolverOptions{.builtins = builtin_names()});
}

Modules::~Modules() = default;

void Modules::set_import_map(ImportMap map) {
    resolver_ = std::make_unique<Resolver>(
        files_, ResolverOptions{.builtins = builtin_names(), .import_map = std::move(map)});
}

std::vector<std::string> Modules::builtin_names() const {
    v8::HandleScope handles(isolate_.v8());
    v8::Local<v8::Context> context = isolate_.context();
    std::vector<std::string> names;
    v8::Local<v8::Value> modules;
    v8::Local<v8::Array> keys;
    if (!isolate_.realm()->Get(context, to_v8(isolate_.v8(), "modules")).ToLocal(&modules) ||
        !modules->IsObject() ||
        !modules.As<v8::Object>()->GetOwnPropertyNames(context).ToLocal(&keys))
        return names;
    for (std::uint32_t at = 0; at < keys->Length(); ++at)
        names.push_back(to_text(isolate_.v8(), keys->Get(context, at).ToLocalChecked()));
    return names;
}

template <class Function>
Result<void> Modules::in_turn(Function function) {
    WEFT_DASSERT(isolate_.is_on_owner_thread(), "modules are loaded by the owner's worker");
    WEFT_DASSERT(in_require_ == isolate_.is_in_turn(), "only require() loads within a turn");
    if (in_require_) return function(isolate_.context());
    Result<void> outcome;
    TurnEnd end = TurnEnd::Done;
    Waiter waiter(WaitReason::Job, this, Cancellable::No);
    isolate_.post([&, waiting = waiter.ref()] {
        end = isolate_.turn([&](v8::Local<v8::Context> context) { outcome = function(context); });
        if (waiting.try_claim(Wake::Ready)) waiting.resume();
    });
    static_cast<void>(waiter.wait());
    if (end == TurnEnd::TooLong && outcome)
        return Error(ErrorKind::TimedOut, "the module computed too long and was ended");
    if (end == TurnEnd::MicrotaskLimit && outcome)
        return Error(ErrorKind::Limit, "the module ran more microtasks than limits.microtasks");
    if (end == TurnEnd::HeapFull || end == TurnEnd::Condemned)
        return Error(ErrorKind::OutOfMemory, "the heap of the isolate is full");
    return outcome;
}

// ---------------------------------------------------------------- loading, on a fiber

Result<void> Modules::load_entry(const std::string& path) {
    ModuleResult<Module> module = resolver_->resolve_entry(path);
    if (!module) return Error(ErrorKind::NotFound, module.error().text());
    entry_ = WEFT_TRY(load_graph(*module));
    return evaluate(*entry_);
}

Result<void> Modules::compile_entry(const std::string& path) {
    ModuleResult<Module> module = resolver_->resolve_entry(path);
    if (!module) return Error(ErrorKind::NotFound, module.error().text());
    entry_ = WEFT_TRY(load_graph(*module));
    return in_turn([&](v8::Local<v8::Context> context) -> Result<void> {
        v8::TryCatch caught(isolate_.v8());
        // Linking finds imports of names that the other module does not export.
        if (entry_->compiled.Get(isolate_.v8())
                ->InstantiateModule(context, on_link)
                .FromMaybe(false))
            return {};
        return thrown(isolate_.v8(), context, caught);
    });
}

Result<void> Modules::load_text(std::string source, const std::string& name) {
    Module module{name, {}, ModuleFormat::Module};
    auto loaded = std::make_unique<Loaded>();
    loaded->module = module;
    WEFT_TRY(compile(*loaded, source));
    Loaded& kept = *loaded;
    std::unique_ptr<Loaded>& place = by_url_[module.url()];
    // A client of the debugger may have imported that path before. Its module may be in use.
    if (place) replaced_.push_back(std::move(place));
    place = std::move(loaded);
    {
        v8::HandleScope handles(isolate_.v8());
        by_hash_.emplace(kept.compiled.Get(isolate_.v8())->GetIdentityHash(), &kept);
    }
    WEFT_TRY(load_graph(module));
    entry_ = &kept;
    return evaluate(*entry_);
}

// Several fibers may load graphs that share modules, and a turn may require() one meanwhile. So a
// module counts as whole only after a walk has visited its whole graph without an error; a walk
// that fails leaves nothing marked, and the next one tries again.
Result<Modules::Loaded*> Modules::load_graph(const Module& root) {
    std::vector<Module> waiting{root};
    std::vector<Loaded*> seen;
    std::unordered_set<std::string> known;
    while (!waiting.empty()) {
        Module next = std::move(waiting.back());
        waiting.pop_back();
        if (!known.insert(next.url()).second) continue;
        Loaded* loaded = WEFT_TRY(load_one(std::move(next)));
        if (loaded->is_whole) continue;
        WEFT_TRY(resolve_imports(*loaded));
        seen.push_back(loaded);
        for (const auto& [specifier, module] : loaded->imports) waiting.push_back(module);
    }
    for (Loaded* loaded : seen) loaded->is_whole = true;
    Loaded* loaded = by_url_.at(root.url()).get();
    WEFT_ASSERT(loaded->is_whole, "the walk begins with the root");
    return loaded;
}

Result<Modules::Loaded*> Modules::load_one(Module module) {
    std::string url = module.url();
    if (auto known = by_url_.find(url); known != by_url_.end()) return known->second.get();
    auto made = std::make_unique<Loaded>();
    made->module = std::move(module);
    std::string source = WEFT_TRY(read_source(made->module));
    if (made->module.format == ModuleFormat::CommonJs) {
        std::vector<std::string> seen;
        gather_names(made->module.path, source, seen, made->names);
    }
    WEFT_TRY(compile(*made, source));
    WEFT_ASSERT(!made->compiled.IsEmpty(), "a compilation without an error gives a module");
    // Another fiber may have loaded it while this one waited.
    auto [place, fresh] = by_url_.try_emplace(url, std::move(made));
    Loaded& loaded = *place->second;
    if (fresh) {
        v8::HandleScope handles(isolate_.v8());
        by_hash_.emplace(loaded.compiled.Get(isolate_.v8())->GetIdentityHash(), &loaded);
    }
    return &loaded;
}

Result<void> Modules::resolve_imports(Loaded& loaded) {
    for (const std::string& request : loaded.requests) {
        if (loaded.imports.contains(request)) continue;
        ModuleResult<Module> found = resolver_->resolve(request, loaded.module.path);
        if (!found) return Error(ErrorKind::NotFound, found.error().text());
        loaded.imports.emplace(request, std::move(*found));
    }
    WEFT_DASSERT(loaded.imports.size() <= loaded.requests.size(), "only what is imported is there");
    return {};
}

Result<std::string> Modules::read_source(Module& module) {
    if (module.format == ModuleFormat::Builtin) return std::string();
    std::string source = WEFT_TRY(files_.read(module.path));
    if (module.format == ModuleFormat::Either) {
        module.format = has_module_syntax(source) ? ModuleFormat::Module : ModuleFormat::CommonJs;
    }
    if (is_typescript(module.path))  // in both kinds of modules
        source = WEFT_TRY(without_types(files_, module.path, source));
    if (module.format == ModuleFormat::Json) return source;
    return without_attributes(module.path, std::move(source));
}

Result<void> Modules::compile(Loaded& loaded, const std::string& source) {
    WEFT_ASSERT(loaded.compiled.IsEmpty(), "a module is compiled once");
    WEFT_ASSERT(loaded.module.format != ModuleFormat::Either, "read_source() decides the format");
    KnownCode known;
    ModuleFormat format = loaded.module.format;
    if (format == ModuleFormat::Module || format == ModuleFormat::TypeScript)
        known = code_.look_up(CodeKind::Module, loaded.module.path, source);
    return in_turn([&](v8::Local<v8::Context> context) -> Result<void> {
        Result<void> compiled;
        switch (loaded.module.format) {
        case ModuleFormat::Builtin: compiled = compile_builtin(loaded, context); break;
        case ModuleFormat::Json: compiled = compile_json(loaded, context, source); break;
        case ModuleFormat::CommonJs: compiled = compile_commonjs(loaded, context); break;
        default: compiled = compile_script(loaded, context, source, std::move(known)); break;
        }
        return compiled;
    });
}

Result<void> Modules::compile_script(Loaded& loaded, v8::Local<v8::Context> context,
                                     const std::string& source, KnownCode known) {
    v8::Isolate* isolate = isolate_.v8();
    v8::TryCatch caught(isolate);
    v8::Local<v8::String> text;
    if (!v8::String::NewFromUtf8(isolate, source.data(), v8::NewStringType::kNormal,
                                 static_cast<int>(source.size()))
             .ToLocal(&text))
        return Error(ErrorKind::Limit, loaded.module.path + " is too large");
    v8::ScriptOrigin origin(isolate, to_v8(isolate, loaded.module.path), 0, 0, false, -1,
                            v8::Local<v8::Value>(), false, false, true);
    v8::Local<v8::Module> module;
    if (!code_.compile_module(std::move(known), text, origin).ToLocal(&module))
        return thrown(isolate, context, caught);
    loaded.compiled.Reset(isolate, module);
    v8::Local<v8::FixedArray> requests = module->GetModuleRequests();
    for (int at = 0; at < requests->Length(); ++at) {
        auto request = requests->Get(context, at).As<v8::ModuleRequest>();
        loaded.requests.push_back(to_text(isolate, request->GetSpecifier()));
    }
    return {};
}

Result<void> Modules::compile_json(Loaded& loaded, v8::Local<v8::Context> context,
                                   const std::string& source) {
    v8::Isolate* isolate = isolate_.v8();
    v8::TryCatch caught(isolate);
    v8::Local<v8::String> text;
    v8::Local<v8::Value> value;
    if (!v8::String::NewFromUtf8(isolate, source.data(), v8::NewStringType::kNormal,
                                 static_cast<int>(source.size()))
             .ToLocal(&text) ||
        !v8::JSON::Parse(context, text).ToLocal(&value))
        return Error(ErrorKind::Other,
                     loaded.module.path + ": " + to_text(isolate, caught.Exception()));
    v8::Local<v8::Object> exports = v8::Object::New(isolate);
    seen_by_turn(exports->Set(context, to_v8(isolate, "default"), value));
    make_synthetic(loaded, context, exports);
    return {};
}

Result<void> Modules::compile_builtin(Loaded& loaded, v8::Local<v8::Context> context) {
    v8::Isolate* isolate = isolate_.v8();
    v8::Local<v8::Value> modules;
    v8::Local<v8::Value> exports;
    v8::TryCatch caught(isolate);
    // Some built-in modules are evaluated by the getter of the property, so this may throw.
    bool found = isolate_.realm()->Get(context, to_v8(isolate, "modules")).ToLocal(&modules) &&
                 modules.As<v8::Object>()
                     ->Get(context, to_v8(isolate, loaded.module.path))
                     .ToLocal(&exports);
    if (!found) return thrown(isolate, context, caught);
    WEFT_ASSERT(exports->IsObject(), "the resolver knows only the modules that the prelude has");
    make_synthetic(loaded, context, exports.As<v8::Object>());
    return {};
}

void Modules::make_synthetic(Loaded& loaded, v8::Local<v8::Context> context,
                             v8::Local<v8::Object> exports) {
    WEFT_DASSERT(loaded.exports.IsEmpty(), "a module is compiled once");
    v8::Isolate* isolate = isolate_.v8();
    v8::Local<v8::Array> keys = exports->GetOwnPropertyNames(context).ToLocalChecked();
    std::vector<v8::Local<v8::String>> names;
    for (std::uint32_t at = 0; at < keys->Length(); ++at)
        names.push_back(keys->Get(context, at).ToLocalChecked().As<v8::String>());
    v8::Local<v8::Module> module = v8::Module::CreateSyntheticModule(
        isolate, to_v8(isolate, loaded.module.url()), names, on_synthetic);
    loaded.exports.Reset(isolate, exports);
    loaded.compiled.Reset(isolate, module);
}

// ---------------------------------------------------------------- linking and evaluating

v8::MaybeLocal<v8::Value> Modules::link_and_evaluate(v8::Local<v8::Context> context,
                                                     Loaded& loaded) {
    WEFT_ASSERT(loaded.is_whole, "a graph is loaded whole before any of it runs");
    v8::Local<v8::Module> module = loaded.compiled.Get(isolate_.v8());
    if (module->GetStatus() == v8::Module::kUninstantiated &&
        !module->InstantiateModule(context, on_link).FromMaybe(false))
        return {};
    Inspector* inspector = isolate_.inspector;
    if (!inspector || &loaded != entry_) return module->Evaluate(context);
    inspector->user_code_follows();
    v8::MaybeLocal<v8::Value> evaluation = module->Evaluate(context);
    inspector->forget_first_break();
    return evaluation;
}

Result<void> Modules::evaluate(Loaded& loaded) {
    v8::Global<v8::Promise> evaluation;
    WEFT_TRY(in_turn([&](v8::Local<v8::Context> context) -> Result<void> {
        v8::TryCatch caught(isolate_.v8());
        v8::Local<v8::Value> promise;
        if (!link_and_evaluate(context, loaded).ToLocal(&promise))
            return thrown(isolate_.v8(), context, caught);
        WEFT_ASSERT(promise->IsPromise(), "a module that evaluates gives a promise");
        evaluation.Reset(isolate_.v8(), promise.As<v8::Promise>());
        isolate_.expect_outcome(promise.As<v8::Promise>());
        return {};
    }));
    return isolate_.await(std::move(evaluation));
}

v8::Local<v8::Object> Modules::entry() const {
    WEFT_ASSERT(entry_ != nullptr, "the entry has been loaded");
    WEFT_DASSERT(isolate_.is_in_turn(), "a handle of V8 is good for one turn");
    return entry_->compiled.Get(isolate_.v8())->GetModuleNamespace().As<v8::Object>();
}

Modules::Loaded* Modules::find(v8::Local<v8::Module> module) const {
    auto [first, last] = by_hash_.equal_range(module->GetIdentityHash());
    auto found = std::find_if(first, last,
                              [&](const auto& entry) { return entry.second->compiled == module; });
    return found == last ? nullptr : found->second;
}

v8::MaybeLocal<v8::Module> Modules::linked(v8::Local<v8::Context>, v8::Local<v8::String> specifier,
                                           v8::Local<v8::Module> referrer) {
    Loaded* from = find(referrer);
    WEFT_ASSERT(from, "every module was compiled here");
    auto module = from->imports.find(to_text(isolate_.v8(), specifier));
    WEFT_ASSERT(module != from->imports.end(), "a graph is loaded whole before it is linked");
    return by_url_.at(module->second.url())->compiled.Get(isolate_.v8());
}

void Modules::fill_import_meta(v8::Local<v8::Module> module, v8::Local<v8::Object> meta) {
    Loaded* loaded = find(module);
    if (!loaded) return;
    v8::Isolate* isolate = isolate_.v8();
    v8::Local<v8::Context> context = isolate_.context();
    const std::string& path = loaded->module.path;
    auto set = [&](std::string_view name, v8::Local<v8::Value> value) {
        seen_by_turn(meta->CreateDataProperty(context, to_v8(isolate, name), value));
    };
    set("url", to_v8(isolate, loaded->module.url()));
    set("main", v8::Boolean::New(isolate, entry_ == nullptr || entry_ == loaded));
    set("filename", to_v8(isolate, path));
    set("dirname", to_v8(isolate, std::filesystem::path(path).parent_path().string()));
    auto resolve = [](const v8::FunctionCallbackInfo<v8::Value>& info) {
        Call call(info);
        Modules& modules = call.isolate().modules();
        std::string referrer = call.text_of(info.Data());
        std::string specifier = to_text(info.GetIsolate(), info[0]);
        ModuleResult<Module> found = modules.resolver_->resolve(specifier, referrer);
        if (found) return call.give(found->url());
        // A path has a URL whether or not the file exists, as in browsers and Node.js.
        PathAndSuffix parts = split_suffix(specifier);
        std::optional<std::string> plain = percent_decoded(parts.path);
        if (found.error().code != ModuleError::Code::NotFound || !plain ||
            !is_relative_or_absolute(specifier))
            return call.throw_type_error(found.error().text());
        call.give(file_url(join_path(folder_of(referrer), *plain)) + std::string(parts.suffix));
    };
    v8::Local<v8::Function> function;
    if (v8::Function::New(context, resolve, to_v8(isolate, path), 1,
                          v8::ConstructorBehavior::kThrow)
            .ToLocal(&function))
        set("resolve", function);
}

v8::MaybeLocal<v8::Value> Modules::evaluate_synthetic(v8::Local<v8::Context> context,
                                                      v8::Local<v8::Module> module) {
    Loaded* loaded = find(module);
    WEFT_ASSERT(loaded, "every module was made here");
    v8::Isolate* isolate = isolate_.v8();
    if (loaded->module.format == ModuleFormat::CommonJs) return evaluate_commonjs(context, *loaded);
    WEFT_ASSERT(!loaded->exports.IsEmpty(), "make_synthetic() has kept the exports");
    v8::Local<v8::Object> exports = loaded->exports.Get(isolate);
    v8::Local<v8::Array> keys = exports->GetOwnPropertyNames(context).ToLocalChecked();
    for (std::uint32_t at = 0; at < keys->Length(); ++at) {
        v8::Local<v8::String> name = keys->Get(context, at).ToLocalChecked().As<v8::String>();
        v8::Local<v8::Value> value;
        if (!exports->Get(context, name).ToLocal(&value)) return {};
        if (!module->SetSyntheticModuleExport(isolate, name, value).FromMaybe(false)) return {};
    }
    v8::Local<v8::Promise::Resolver> resolver;
    if (!v8::Promise::Resolver::New(context).ToLocal(&resolver)) return {};
    seen_by_turn(resolver->Resolve(context, v8::Undefined(isolate)));
    return resolver->GetPromise();
}

v8::MaybeLocal<v8::Promise> Modules::import_dynamically(v8::Local<v8::String> specifier,
                                                        std::string referrer) {
    std::string wanted = to_text(isolate_.v8(), specifier);
    return start_task(
        isolate_, "import", [this, wanted, referrer = std::move(referrer)]() -> Result<Settled> {
            ModuleResult<Module> module = resolver_->resolve(wanted, path_of_url(referrer));
            if (!module)
                return import_failure(module.error().text(), to_string(module.error().code));
            Result<Loaded*> loaded = load_graph(*module);
            if (!loaded) return import_failure(loaded.error().message());
            return Settled([this, loaded = *loaded](Isolate& isolate) {
                return evaluated_namespace(isolate, *loaded);
            });
        });
}

// The rejection of import() when a module cannot be loaded: a TypeError, as in browsers. Its `code`
// is that of Node.js, by which packages detect that a dependency is not installed.
Settled Modules::import_failure(std::string message, std::string_view code) {
    return [message = std::move(message), code](Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        v8::Local<v8::Value> error = v8::Exception::TypeError(to_v8(isolate.v8(), message));
        if (!code.empty()) {
            v8::Local<v8::Value> text = to_v8(isolate.v8(), code);
            seen_by_turn(
                error.As<v8::Object>()->Set(isolate.context(), to_v8(isolate.v8(), "code"), text));
        }
        isolate.v8()->ThrowException(error);
        return {};
    };
}

// A promise of the namespace, which is resolved when the module's evaluation has ended.
v8::MaybeLocal<v8::Value> Modules::evaluated_namespace(Isolate& isolate, Loaded& loaded) {
    v8::Local<v8::Context> context = isolate.context();
    v8::Local<v8::Value> evaluation;
    if (!link_and_evaluate(context, loaded).ToLocal(&evaluation)) return {};
    WEFT_ASSERT(evaluation->IsPromise(), "a module that evaluates gives a promise");
    code_.keep_fresh();
    v8::Local<v8::Value> names = loaded.compiled.Get(isolate.v8())->GetModuleNamespace();
    v8::Local<v8::Function> give;
    if (!v8::Function::New(
             context,
             [](const v8::FunctionCallbackInfo<v8::Value>& info) {
                 info.GetReturnValue().Set(info.Data());
             },
             names)
             .ToLocal(&give))
        return {};
    v8::Local<v8::Promise> chained;
    if (!evaluation.As<v8::Promise>()->Then(context, give).ToLocal(&chained)) return {};
    return chained.As<v8::Value>();
}

}  // namespace weft::js
