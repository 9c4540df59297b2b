#include "weft/js/code_cache.h"

#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/waiter.h"
#include "weft/js/isolate.h"
#include "weft/js/task.h"

namespace weft::js {
namespace {

using CachedData = v8::ScriptCompiler::CachedData;

// The compiled unit takes ownership of the result; the bytes still belong to `known`.
CachedData* given_code(const KnownCode& known) {
    if (known.code.empty()) return nullptr;
    return std::make_unique<CachedData>(reinterpret_cast<const std::uint8_t*>(known.code.data()),
                                        static_cast<int>(known.code.size()),
                                        CachedData::BufferNotOwned)
        .release();
}

v8::ScriptCompiler::CompileOptions options_for(const KnownCode& known) {
    return known.code.empty() ? v8::ScriptCompiler::kNoCompileOptions
                              : v8::ScriptCompiler::kConsumeCodeCache;
}

}  // namespace

void CodeCache::use(CodeStore* store) {
    WEFT_ASSERT(store && !store_, "one store is used for the life of the isolate");
    store_ = store;
    engine_ = format("{} {:08x}", v8::V8::GetVersion(), v8::ScriptCompiler::CachedDataVersionTag());
}

KnownCode CodeCache::look_up(CodeKind kind, const std::string& path,
                             std::string_view source) const {
    WEFT_DASSERT(isolate_.is_on_owner_thread(), "the owner's loop or one of its fibers looks up");
    KnownCode known;
    if (!store_ || source.size() < kSourceBytesMin) return known;
    known.path = path;
    auto look = [&] {
        known.key = store_->key_of({engine_, kind, path, source});
        known.code = store_->read(*known.key);
    };
    // If the pool has no thread, or the fiber is cancelled, it is compiled from its text.
    if (!blocking(look)) known = {};
    if (known.code.size() > std::numeric_limits<int>::max()) known.code.clear();
    return known;
}

bool CodeCache::needs_keeping(const KnownCode& known, const v8::ScriptCompiler::Source& unit) {
    if (!known.key) return false;
    if (!known.code.empty() && !unit.GetCachedData()->rejected) {
        ++counters_.taken;
        log(LogLevel::Debug, "{}: compiled from the code that was kept", known.path);
        return false;
    }
    if (!known.code.empty()) {
        ++counters_.refused;
        log(LogLevel::Debug, "{}: the engine refuses the code that was kept", known.path);
    }
    return fresh_.size() < kFreshMax;
}

v8::MaybeLocal<v8::Module> CodeCache::compile_module(KnownCode known, v8::Local<v8::String> source,
                                                     const v8::ScriptOrigin& origin) {
    WEFT_DASSERT(isolate_.is_in_turn(), "a compilation may throw, which a turn handles");
    v8::Isolate* isolate = isolate_.v8();
    v8::ScriptCompiler::Source unit(source, origin, given_code(known));
    v8::Local<v8::Module> module;
    if (!v8::ScriptCompiler::CompileModule(isolate, &unit, options_for(known)).ToLocal(&module))
        return {};
    if (needs_keeping(known, unit)) {
        // Read now: V8 does not return it for a module that has run.
        Fresh fresh{*known.key, std::move(known.path), {}, {}};
        fresh.module.Reset(isolate, module->GetUnboundModuleScript());
        fresh_.push_back(std::move(fresh));
    }
    return module;
}

v8::MaybeLocal<v8::Function> CodeCache::compile_function(
    KnownCode known, v8::Local<v8::String> source, const v8::ScriptOrigin& origin,
    std::vector<v8::Local<v8::String>> parameters) {
    WEFT_DASSERT(isolate_.is_in_turn(), "a compilation may throw, which a turn handles");
    v8::ScriptCompiler::Source unit(source, origin, given_code(known));
    v8::Local<v8::Function> function;
    if (!v8::ScriptCompiler::CompileFunction(isolate_.context(), &unit, parameters.size(),
                                             parameters.data(), 0, nullptr, options_for(known))
             .ToLocal(&function))
        return {};
    if (needs_keeping(known, unit)) {
        Fresh fresh{*known.key, std::move(known.path), {}, {}};
        fresh.function.Reset(isolate_.v8(), function);
        fresh_.push_back(std::move(fresh));
    }
    return function;
}

// ---------------------------------------------------------------- keeping

// Serializes one text in a turn of its own, because that reads the engine's heap; other turns can
// run in between. Empty: all have been serialized, or the isolate takes no more turns.
std::optional<CodeCache::Written> CodeCache::next_code() {
    std::optional<Written> next;
    Waiter waiter(WaitReason::Job, this, Cancellable::No);
    auto serialize = [&](v8::Local<v8::Context>) {
        if (fresh_.empty()) return;
        Fresh fresh = std::move(fresh_.back());
        fresh_.pop_back();
        WEFT_ASSERT(fresh.function.IsEmpty() != fresh.module.IsEmpty(),
                    "either a module or a function was compiled");
        // No script runs here, so the limit on the turn does not apply.
        isolate_.pause_turn();
        v8::Isolate* isolate = isolate_.v8();
        std::unique_ptr<CachedData> made(
            fresh.function.IsEmpty()
                ? v8::ScriptCompiler::CreateCodeCache(fresh.module.Get(isolate))
                : v8::ScriptCompiler::CreateCodeCacheForFunction(fresh.function.Get(isolate)));
        isolate_.resume_turn();
        next.emplace(Written{fresh.key, std::move(fresh.path), {}});
        // V8 makes none for a text with asm.js.
        if (!made) return;
        next->code.resize(static_cast<std::size_t>(made->length));
        std::memcpy(next->code.data(), made->data, next->code.size());
    };
    isolate_.post([&, waiting = waiter.ref()] {
        isolate_.turn(serialize);
        if (waiting.try_claim(Wake::Ready)) waiting.resume();
    });
    static_cast<void>(waiter.wait());
    return next;
}

void CodeCache::keep() {
    if (!store_ || std::exchange(is_writing_, true)) return;
    write_out();
    is_writing_ = false;
}

void CodeCache::write_out() {
    WEFT_ASSERT(store_ && is_writing_, "one fiber at a time writes to a store");
    WEFT_DASSERT(isolate_.is_on_owner_thread(), "a fiber of the owner's worker writes");
    while (std::optional<Written> next = next_code()) {
        if (next->code.empty()) continue;
        Result<bool> written = blocking([&] { return store_->write(next->key, next->code); });
        if (!written) return;  // cancelled, or the pool has no thread
        if (!*written) continue;
        ++counters_.kept;
        log(LogLevel::Debug, "{}: its code was kept, {} bytes", next->path, next->code.size());
    }
}

void CodeCache::begin_keeping() {
    keeps_late_ = true;
    keep_fresh();
}

void CodeCache::keep_fresh() {
    WEFT_DASSERT(isolate_.is_in_turn(), "a task is started in a turn");
    WEFT_DASSERT(fresh_.size() <= kFreshMax, "needs_keeping() refuses what is beyond the limit");
    if (!store_ || !keeps_late_ || is_writing_ || fresh_.empty()) return;
    auto work = [this]() -> Result<Settled> {
        keep();
        return settled();
    };
    // The task belongs to the application, whichever request's turn this is. Nobody waits for its
    // promise, which is rejected only if there is no memory.
    isolate_.expect_outcome(start_task(isolate_, "keep code", work, isolate_.find_token(0)));
}

}  // namespace weft::js
