// ModuleError: why an import could not be resolved, in terms of what its author wrote.
//
// A value; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::js {

struct ModuleError {
    enum class Code : std::uint8_t {
        NotFound,
        Folder,            // it is a folder, and must be a file
        InvalidSpecifier,  // the specifier itself is malformed
        InvalidPackage,    // a package.json or an import map cannot be read
        InvalidTarget,     // a target in "exports" or "imports" is outside of its package
        NotExported,       // "exports" of the package does not contain it
        NotDefined,        // "imports" does not contain the #name
        Blocked,           // the import map maps it to null
        Unsupported,       // Weft does not load this scheme or kind of file
    };

    Code code = Code::NotFound;
    std::string message;             // one sentence, without its full stop
    std::vector<std::string> tried;  // each path that was looked up, in order
    std::string hint;                // what was probably meant; may be empty

    // For people: the message, then a line for each path, then the hint.
    std::string text() const;
};

// The code that Node.js uses (ERR_MODULE_NOT_FOUND), which people search for.
std::string_view to_string(ModuleError::Code code) noexcept;

template <class T>
using ModuleResult = std::expected<T, ModuleError>;

inline std::unexpected<ModuleError> module_error(ModuleError::Code code, std::string message,
                                                 std::string hint = {}) {
    return std::unexpected(ModuleError{code, std::move(message), {}, std::move(hint)});
}

}  // namespace weft::js
