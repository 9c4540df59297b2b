// CodeCache: compiled code of modules, kept on disk from one start to the next.
//
// Before a text is compiled, its code is looked up. If it was not found, the code is written after
// the module has run, because the engine compiles most functions at their first call. No start
// waits for that: the host asks for it when the application serves, or at the end of a script.
//
// Without a store nothing is looked up and nothing is kept. Owning isolate only.
#pragma once

#include <v8.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/js/code_store.h"

namespace weft::js {

class Isolate;

struct CodeCounters {
    std::uint64_t taken = 0;    // texts that were compiled from stored code
    std::uint64_t refused = 0;  // stored code that the engine rejected
    std::uint64_t kept = 0;
};

// The result of looking up a text's code.
struct KnownCode {
    std::optional<CodeKey> key;   // none: it was not looked up and will not be kept
    std::vector<std::byte> code;  // empty: the store has none
    std::string path;
};

class CodeCache {
public:
    // Compiling a shorter text takes no longer than looking it up: see docs/js/modules.md.
    static constexpr std::size_t kSourceBytesMin = std::size_t{4} * 1024;
    // The limit on texts whose code waits to be kept: a script can make texts itself.
    static constexpr std::size_t kFreshMax = 4096;

    explicit CodeCache(Isolate& isolate) : isolate_(isolate) {}
    CodeCache(const CodeCache&) = delete;
    CodeCache& operator=(const CodeCache&) = delete;

    // Before the first module is loaded. The store outlives the isolate.
    void use(CodeStore* store);
    bool is_used() const { return store_ != nullptr; }

    // On a fiber, which waits for the disk; in a turn, the thread itself waits.
    KnownCode look_up(CodeKind kind, const std::string& path, std::string_view source) const;

    // In a turn. Empty: an exception is pending.
    v8::MaybeLocal<v8::Module> compile_module(KnownCode known, v8::Local<v8::String> source,
                                              const v8::ScriptOrigin& origin);
    // The same for a function with these parameters, whose body is the source.
    v8::MaybeLocal<v8::Function> compile_function(KnownCode known, v8::Local<v8::String> source,
                                                  const v8::ScriptOrigin& origin,
                                                  std::vector<v8::Local<v8::String>> parameters);

    // A fiber of the owner's worker: writes the code of what has been compiled, and waits for that.
    void keep();
    // In a turn: starts a task of the application that does so. From now on keep_fresh() does it,
    // too, for what is loaded later.
    void begin_keeping();
    // In a turn, after modules have run.
    void keep_fresh();

    const CodeCounters& counters() const { return counters_; }

private:
    // Something that was compiled from its text and is to be kept: a module or a function.
    struct Fresh {
        CodeKey key;
        std::string path;
        v8::Global<v8::UnboundModuleScript> module;
        v8::Global<v8::Function> function;
    };
    struct Written {
        CodeKey key;
        std::string path;
        std::vector<std::byte> code;
    };

    // After a compilation: counts whether stored code was used. True: the code is to be kept.
    bool needs_keeping(const KnownCode& known, const v8::ScriptCompiler::Source& unit);
    std::optional<Written> next_code();
    void write_out();

    Isolate& isolate_;
    CodeStore* store_ = nullptr;
    std::string engine_;  // of CodeOrigin
    std::vector<Fresh> fresh_;
    bool keeps_late_ = false;  // begin_keeping() was called
    bool is_writing_ = false;  // a fiber is in keep()
    CodeCounters counters_;
};

}  // namespace weft::js
