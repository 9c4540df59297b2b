// CodeCache: modules are compiled from what an earlier start has kept, and kept for the next.
//
// Before a text is compiled its code is looked up. What was not there is kept after it has run, as
// the engine compiles most functions when they are first called. Keeping is work that no start
// waits for: the host asks for it when the application serves, or at the end of a script.
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
    std::uint64_t taken = 0;    // texts whose code was there
    std::uint64_t refused = 0;  // by the engine, although it was there
    std::uint64_t kept = 0;
};

// What is known of a text's code before it is compiled.
struct KnownCode {
    std::optional<CodeKey> key;   // none: it is not looked for, and will not be kept
    std::vector<std::byte> code;  // empty: there is none
    std::string path;
};

class CodeCache {
public:
    // Compiling less takes no longer than looking it up: see docs/js/modules.md.
    static constexpr std::size_t kSourceBytesMin = std::size_t{4} * 1024;
    // Texts whose code waits to be kept, such as those that a script makes itself.
    static constexpr std::size_t kFreshMax = 4096;

    explicit CodeCache(Isolate& isolate) : isolate_(isolate) {}
    CodeCache(const CodeCache&) = delete;
    CodeCache& operator=(const CodeCache&) = delete;

    // It outlives the isolate.
    void use(CodeStore* store);
    bool is_used() const { return store_ != nullptr; }

    // A fiber; or a turn, which then waits for the disk itself.
    KnownCode look_up(CodeKind kind, const std::string& path, std::string_view source) const;

    // In a turn. Empty: it threw.
    v8::MaybeLocal<v8::Module> compile_module(KnownCode known, v8::Local<v8::String> source,
                                              const v8::ScriptOrigin& origin);
    // A function of these parameters, whose body is the source.
    v8::MaybeLocal<v8::Function> compile_function(KnownCode known, v8::Local<v8::String> source,
                                                  const v8::ScriptOrigin& origin,
                                                  std::vector<v8::Local<v8::String>> parameters);

    // A fiber of the owner's worker: keeps what has been compiled, and waits for that.
    void keep();
    // In a turn: the same on a fiber of the application's. From now on also for what is loaded
    // later, behind each keep_fresh().
    void begin_keeping();
    // In a turn, when modules have run.
    void keep_fresh();

    const CodeCounters& counters() const { return counters_; }

private:
    // What was compiled from its text and is to be kept: one of the two.
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

    // Whether the code has to be kept, after the compilation.
    bool judge(const KnownCode& known, const v8::ScriptCompiler::Source& unit);
    std::optional<Written> next_code();
    void write_out();

    Isolate& isolate_;
    CodeStore* store_ = nullptr;
    std::string engine_;
    std::vector<Fresh> fresh_;
    bool keeps_late_ = false;
    bool is_writing_ = false;  // a fiber does it
    CodeCounters counters_;
};

}  // namespace weft::js
