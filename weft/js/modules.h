// Modules: the ES modules of an isolate, from file to evaluation.
//
// A fiber loads modules: it reads files and waits for the disk. Compiling, linking and evaluating
// are turns of the isolate. All modules of a graph are loaded before any of it runs. A module is
// identified by its URL: the second import of a file gives the same module.
//
// Owning isolate only. Functions that load are called by a fiber of the owner's worker.
#pragma once

#include <v8.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/result.h"
#include "weft/js/code_cache.h"
#include "weft/js/module_files.h"
#include "weft/js/resolve.h"
#include "weft/js/task.h"

namespace weft::js {

class Isolate;

class Modules {
public:
    explicit Modules(Isolate& isolate);
    ~Modules();
    Modules(const Modules&) = delete;
    Modules& operator=(const Modules&) = delete;

    // For what is resolved from now on.
    void set_import_map(ImportMap map);

    // A fiber: loads the file and everything it imports, evaluates it, and waits for its top-level
    // await. Afterwards entry() returns the namespace. The error is text for people.
    Result<void> load_entry(const std::string& path);
    // A fiber: loads and links the same, and runs nothing.
    Result<void> compile_entry(const std::string& path);
    // As load_entry() for a text that is not in a file. `name` is a path whose folder its imports
    // are relative to. Each name is used once.
    Result<void> load_text(std::string source, const std::string& name);
    // In a turn, after load_entry(): the module's namespace.
    v8::Local<v8::Object> entry() const;
    // The files that were looked up, whether they were loaded or not.
    DiskFiles& disk() { return files_; }
    CodeCache& code() { return code_; }
    // The path that imports of scripts without a name are relative to. The file need not exist.
    std::string default_referrer = "/";

    // Called by V8, in a turn. linked() finds the module that an import of `referrer` means.
    v8::MaybeLocal<v8::Promise> import_dynamically(v8::Local<v8::String> specifier,
                                                   std::string referrer);
    v8::MaybeLocal<v8::Module> linked(v8::Local<v8::Context> context,
                                      v8::Local<v8::String> specifier,
                                      v8::Local<v8::Module> referrer);
    void fill_import_meta(v8::Local<v8::Module> module, v8::Local<v8::Object> meta);
    v8::MaybeLocal<v8::Value> evaluate_synthetic(v8::Local<v8::Context> context,
                                                 v8::Local<v8::Module> module);

    // For require(), in a turn: resolves a specifier; reads the text of a file; loads and runs an
    // ES module synchronously (empty: it threw, or it awaits at its top level).
    ModuleResult<Module> find_required(const std::string& specifier, const std::string& referrer);
    Result<std::string> read_required(const std::string& path);
    v8::MaybeLocal<v8::Value> require_module(v8::Local<v8::Context> context,
                                             const std::string& path);

private:
    struct Loaded {
        Module module;
        v8::Global<v8::Module> compiled;
        // The exports of a built-in or JSON module.
        v8::Global<v8::Object> exports;
        std::unordered_map<std::string, Module> imports;  // resolved, by their specifiers
        std::vector<std::string> requests;                // the specifiers that it imports
        // The exports that were found in the text of a CommonJS module.
        std::vector<std::string> names;
        // Everything that it imports has been loaded, transitively.
        bool is_whole = false;
    };

    Result<Loaded*> load_graph(const Module& root);
    Result<Loaded*> load_one(Module module);
    Result<void> resolve_imports(Loaded& loaded);
    // Reads the text as JavaScript. Decides the format of a file that may be either kind of module.
    Result<std::string> read_source(Module& module);
    Result<void> compile(Loaded& loaded, const std::string& source);
    Result<void> compile_script(Loaded& loaded, v8::Local<v8::Context> context,
                                const std::string& source, KnownCode known);
    Result<void> compile_json(Loaded& loaded, v8::Local<v8::Context> context,
                              const std::string& source);
    Result<void> compile_builtin(Loaded& loaded, v8::Local<v8::Context> context);
    Result<void> compile_commonjs(Loaded& loaded, v8::Local<v8::Context> context);
    void make_synthetic(Loaded& loaded, v8::Local<v8::Context> context,
                        v8::Local<v8::Object> exports);
    // A fiber, or a turn: adds the export names in a CommonJS text, and in files it re-exports.
    void gather_names(const std::string& path, const std::string& source,
                      std::vector<std::string>& seen, std::vector<std::string>& names);
    v8::MaybeLocal<v8::Value> evaluate_commonjs(v8::Local<v8::Context> context, Loaded& loaded);
    void give_exports(v8::Local<v8::Context> context, Loaded& loaded);
    Result<void> evaluate(Loaded& loaded);
    v8::MaybeLocal<v8::Value> link_and_evaluate(v8::Local<v8::Context> context, Loaded& loaded);
    v8::MaybeLocal<v8::Value> evaluated_namespace(Isolate& isolate, Loaded& loaded);
    static Settled import_failure(std::string message, std::string_view code = {});
    Loaded* find(v8::Local<v8::Module> module) const;
    std::vector<std::string> builtin_names() const;
    // Runs the function in a turn of the isolate and waits for that; at once in require_module().
    template <class Function>
    Result<void> in_turn(Function function);

    Isolate& isolate_;
    DiskFiles files_;
    CodeCache code_;
    std::unique_ptr<Resolver> resolver_;
    std::unordered_map<std::string, std::unique_ptr<Loaded>> by_url_;
    // By load_text(): they are not found by their URL any more, but by their hash.
    std::vector<std::unique_ptr<Loaded>> replaced_;
    std::unordered_multimap<int, Loaded*> by_hash_;  // V8's identity hash of the module
    bool in_require_ = false;                        // require_module() loads within a turn
    Loaded* entry_ = nullptr;
};

}  // namespace weft::js
