// CodeStore: where the compiled code of modules is kept from one start to the next.
//
// The engine does not check the code it is given, so a store returns exactly the bytes that were
// written under the same key, or nothing. The real one is api/application/disk_code_store.h.
//
// Called by threads of the blocking pool and, for require(), by the owner's thread of an isolate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::js {

enum class CodeKind : std::uint8_t { Module, CommonJs };

// Everything that the code depends on. The path is a part of it because the code contains the name
// of its file, which stacks show and import() is resolved against.
struct CodeOrigin {
    std::string_view engine;  // its version, its flags and the processor's features
    CodeKind kind = CodeKind::Module;
    std::string_view path;
    std::string_view source;  // as the engine compiles it: without types
};

using CodeKey = std::array<std::byte, 32>;

class CodeStore {
public:
    virtual CodeKey key_of(const CodeOrigin& origin) const = 0;
    // Empty: there is none. Several threads at once.
    virtual std::vector<std::byte> read(const CodeKey& key) = 0;
    // Replaces what was there. False: it could not be written. One thread at a time.
    virtual bool write(const CodeKey& key, std::span<const std::byte> code) = 0;

protected:
    ~CodeStore() = default;
};

}  // namespace weft::js
