// The native functions that require() is made of.
#include <utility>

#include "weft/js/describe.h"
#include "weft/js/inspector.h"
#include "weft/js/isolate.h"
#include "weft/js/modules.h"
#include "weft/js/natives.h"

namespace weft::js {
namespace {

std::string_view kind_of(ModuleFormat format) {
    switch (format) {
    case ModuleFormat::CommonJs:
    case ModuleFormat::Either: return "commonjs";
    case ModuleFormat::Json: return "json";
    case ModuleFormat::Builtin: return "builtin";
    default: return "module";
    }
}

// Returns [kind, path] of the module, or [null, message, code] of the failure.
void require_resolve(Call& call) {
    ModuleResult<Module> found = call.isolate().modules().find_required(call.text(0), call.text(1));
    if (found) {
        v8::Local<v8::Value> pair[] = {call.name(kind_of(found->format)), call.string(found->path)};
        return call.give(call.array(pair));
    }
    bool is_absent = found.error().code == ModuleError::Code::NotFound;
    v8::Local<v8::Value> triple[] = {
        v8::Null(call.v8()), call.string(found.error().text()),
        call.name(is_absent ? "MODULE_NOT_FOUND" : to_string(found.error().code))};
    call.give(call.array(triple));
}

void require_source(Call& call) {
    Result<std::string> text = call.isolate().modules().read_required(call.text(0));
    if (!text) return call.throw_error(text.error().message());
    call.give(std::string_view(*text));
}

// Returns function (exports, require, module, __filename, __dirname), whose lines are the file's.
void require_compile(Call& call) {
    v8::ScriptOrigin origin(call.v8(), call[1]);
    CodeCache& code = call.isolate().modules().code();
    KnownCode known;
    // The text is converted to UTF-8 again only if the cache will look it up.
    auto source = call[0].As<v8::String>();
    if (code.is_used() && source->Length() >= static_cast<int>(CodeCache::kSourceBytesMin))
        known = code.look_up(CodeKind::CommonJs, call.text(1), call.text(0));
    v8::Local<v8::Function> function;
    if (code.compile_function(std::move(known), source, origin,
                              {call.name("exports"), call.name("require"), call.name("module"),
                               call.name("__filename"), call.name("__dirname")})
            .ToLocal(&function)) {
        // The loader calls the function next.
        if (Inspector* inspector = call.isolate().inspector) inspector->user_code_follows();
        call.give(function);
    }
    // The function has not run yet, but the fiber that keeps its code runs only after this turn.
    code.keep_fresh();
}

void require_module(Call& call) {
    v8::Local<v8::Value> names;
    if (call.isolate().modules().require_module(call.context(), call.text(0)).ToLocal(&names))
        call.give(names);
}

constexpr Binding kBindings[] = {
    bind<require_resolve>("requireResolve",
                          "(specifier: string, referrer: string): [string | null, ...string[]]"),
    bind<require_source>("requireSource", "(path: string): string"),
    bind<require_compile>("requireCompile", "(source: string, path: string): Function"),
    bind<require_module>("requireModule", "(path: string): object"),
};

}  // namespace

std::span<const Binding> require_bindings() { return kBindings; }

}  // namespace weft::js
