// CommonJS: importing such files from ES modules, and the functions below require(). The loader,
// with its cache and its handling of cycles, is a script: api/node/commonjs.js.
#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/js/cjs_exports.h"
#include "weft/js/describe.h"
#include "weft/js/inspector.h"
#include "weft/js/isolate.h"
#include "weft/js/modules.h"
#include "weft/js/typescript_file.h"

namespace weft::js {
namespace {

v8::MaybeLocal<v8::Value> on_evaluate(v8::Local<v8::Context> context,
                                      v8::Local<v8::Module> module) {
    return Isolate::of(context->GetIsolate()).modules().evaluate_synthetic(context, module);
}

v8::MaybeLocal<v8::Module> on_link(v8::Local<v8::Context> context, v8::Local<v8::String> specifier,
                                   v8::Local<v8::FixedArray>, v8::Local<v8::Module> referrer) {
    return Isolate::of(context->GetIsolate()).modules().linked(context, specifier, referrer);
}

void throw_error(v8::Isolate* isolate, const std::string& message) {
    isolate->ThrowException(v8::Exception::Error(to_v8(isolate, message)));
}

}  // namespace

void Modules::gather_names(const std::string& path, const std::string& source,
                           std::vector<std::string>& seen, std::vector<std::string>& names) {
    if (std::ranges::find(seen, path) != seen.end()) return;
    seen.push_back(path);
    CjsExports found = find_cjs_exports(source);
    for (std::string& name : found.names)
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    for (const std::string& specifier : found.reexports) {
        ModuleResult<Module> module = resolver_->resolve(specifier, path, ImportKind::Require);
        if (!module || module->format == ModuleFormat::Builtin ||
            module->format == ModuleFormat::Json)
            continue;
        Result<std::string> text = read_source(*module);
        if (text && module->format == ModuleFormat::CommonJs)
            gather_names(module->path, *text, seen, names);
    }
}

// The default export is module.exports, which is also exported by that name, as in Node.js.
Result<void> Modules::compile_commonjs(Loaded& loaded, v8::Local<v8::Context>) {
    v8::Isolate* isolate = isolate_.v8();
    std::erase(loaded.names, "default");
    std::erase(loaded.names, "module.exports");
    std::vector<v8::Local<v8::String>> names = {to_v8(isolate, "default"),
                                                to_v8(isolate, "module.exports")};
    for (const std::string& name : loaded.names) names.push_back(to_v8(isolate, name));
    v8::Local<v8::Module> module = v8::Module::CreateSyntheticModule(
        isolate, to_v8(isolate, loaded.module.url()), names, on_evaluate);
    loaded.compiled.Reset(isolate, module);
    return {};
}

// V8 requires the evaluation callback to rethrow an exception, and crashes if it does not.
v8::MaybeLocal<v8::Value> Modules::evaluate_commonjs(v8::Local<v8::Context> context,
                                                     Loaded& loaded) {
    v8::Isolate* isolate = isolate_.v8();
    v8::TryCatch caught(isolate);
    give_exports(context, loaded);
    if (caught.HasCaught() && !caught.HasTerminated()) {
        caught.ReThrow();
        return {};
    }
    v8::Local<v8::Promise::Resolver> resolver;
    bool terminated = caught.HasTerminated();
    if (terminated) isolate->CancelTerminateExecution();
    if (!v8::Promise::Resolver::New(context).ToLocal(&resolver)) return {};
    seen_by_turn(resolver->Resolve(context, v8::Undefined(isolate)));
    // The turn must still be terminated.
    if (terminated) isolate->TerminateExecution();
    return resolver->GetPromise();
}

// Runs the file and fills in what it exports; an exception is left pending.
void Modules::give_exports(v8::Local<v8::Context> context, Loaded& loaded) {
    v8::Isolate* isolate = isolate_.v8();
    v8::Local<v8::Module> module = loaded.compiled.Get(isolate);
    v8::Local<v8::Value> load;
    v8::Local<v8::Value> exported;
    v8::Local<v8::Value> arguments[] = {to_v8(isolate, loaded.module.path),
                                        v8::Boolean::New(isolate, entry_ == &loaded)};
    // The loader runs first; it then compiles the user's file.
    if (isolate_.inspector) isolate_.inspector->own_code_follows();
    if (!isolate_.hook_of("commonjs", "load").ToLocal(&load) ||
        !load.As<v8::Function>()
             ->Call(context, v8::Undefined(isolate), 2, arguments)
             .ToLocal(&exported))
        return;
    auto give = [&](std::string_view name, v8::Local<v8::Value> value) {
        seen_by_turn(module->SetSyntheticModuleExport(isolate, to_v8(isolate, name), value));
    };
    give("default", exported);
    give("module.exports", exported);
    for (const std::string& name : loaded.names) {
        if (!exported->IsObject()) return;
        // If a getter throws, only its name stays undefined.
        v8::TryCatch ignored(isolate);
        v8::Local<v8::Value> value;
        if (exported.As<v8::Object>()->Get(context, to_v8(isolate, name)).ToLocal(&value))
            give(name, value);
        if (ignored.HasTerminated()) return isolate->TerminateExecution();
    }
}

ModuleResult<Module> Modules::find_required(const std::string& specifier,
                                            const std::string& referrer) {
    ModuleResult<Module> found = resolver_->resolve(specifier, referrer, ImportKind::Require);
    if (found && found->format == ModuleFormat::Either) {
        Result<std::string> read = read_source(*found);
        if (!read) return module_error(ModuleError::Code::NotFound, read.error().message());
    }
    return found;
}

Result<std::string> Modules::read_required(const std::string& path) {
    std::string source = WEFT_TRY(files_.read(path));
    if (!is_typescript(path)) return source;
    return without_types(files_, path, source);
}

v8::MaybeLocal<v8::Value> Modules::require_module(v8::Local<v8::Context> context,
                                                  const std::string& path) {
    WEFT_DASSERT(isolate_.is_in_turn(), "require() is called by a script");
    v8::Isolate* isolate = isolate_.v8();
    bool outer = std::exchange(in_require_, true);
    Result<Loaded*> loaded = load_graph(
        Module{path, {}, is_typescript(path) ? ModuleFormat::TypeScript : ModuleFormat::Module});
    in_require_ = outer;
    if (!loaded) {
        throw_error(isolate, loaded.error().message());
        return {};
    }
    v8::Local<v8::Module> module = (*loaded)->compiled.Get(isolate);
    if (module->GetStatus() == v8::Module::kEvaluating) {
        throw_error(isolate, path +
                                 " is required while it is being evaluated: a cycle of import "
                                 "and require()");
        return {};
    }
    if (module->GetStatus() == v8::Module::kUninstantiated &&
        !module->InstantiateModule(context, on_link).FromMaybe(false))
        return {};
    v8::Local<v8::Value> evaluation;
    if (!module->Evaluate(context).ToLocal(&evaluation)) return {};
    WEFT_ASSERT(evaluation->IsPromise(), "a module that evaluates gives a promise");
    auto promise = evaluation.As<v8::Promise>();
    if (promise->State() == v8::Promise::kRejected) {
        isolate_.expect_outcome(promise);
        isolate->ThrowException(promise->Result());
        return {};
    }
    if (promise->State() == v8::Promise::kPending) {
        throw_error(isolate, path + " awaits at its top level: it can be imported, not required");
        return {};
    }
    return module->GetModuleNamespace();
}

}  // namespace weft::js
