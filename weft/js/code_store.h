// CodeStore: where the compiled code of modules is kept from one start to the next.
//
// The engine trusts the code that it is given, so a store gives only what was written under the
// same key, bit for bit, or nothing. The real one is api/application/disk_code_store.h.
//
// Threads of the blocking pool and, for what require() loads, the owner of an isolate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::js {

enum class CodeKind : std::uint8_t { Module, CommonJs };

// All that the code depends on. The path is a part of it: the code carries the name of its file,
// by which stacks are written and import() is resolved.
struct CodeOrigin {
    std::string_view engine;  // its version, its flags and the processor's features
    CodeKind kind = CodeKind::Module;
    std::string_view path;
    std::string_view source;  // as the engine gets it: without types
};

using CodeKey = std::array<std::byte, 32>;

class CodeStore {
public:
    virtual CodeKey key_of(const CodeOrigin& origin) const = 0;
    // Empty: there is none. Many at once.
    virtual std::vector<std::byte> read(const CodeKey& key) = 0;
    // Replaces what was there. False: it could not be written. One at a time.
    virtual bool write(const CodeKey& key, std::span<const std::byte> code) = 0;

protected:
    ~CodeStore() = default;
};

}  // namespace weft::js
