// ModuleError: why an import could not be resolved, in the words of whoever wrote it.
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
        Folder,            // a folder where a file must stand
        InvalidSpecifier,  // the specifier itself is malformed
        InvalidPackage,    // a package.json or an import map that cannot be read
        InvalidTarget,     // an "exports" or "imports" that leads outside of its package
        NotExported,       // the package has it, or not, but does not offer it
        NotDefined,        // a #name that "imports" does not have
        Blocked,           // the import map says so, by null
        Unsupported,       // a scheme or a kind of file that Weft does not load
    };

    Code code = Code::NotFound;
    std::string message;             // one sentence, without its full stop
    std::vector<std::string> tried;  // each path that was looked at, in order
    std::string hint;                // what was probably meant; may be empty

    // As a program's user sees it: the message, then a line for each path, then the hint.
    std::string text() const;
};

// As Node.js calls it (ERR_MODULE_NOT_FOUND), so that what people search for is found.
std::string_view to_string(ModuleError::Code code) noexcept;

template <class T>
using ModuleResult = std::expected<T, ModuleError>;

inline std::unexpected<ModuleError> module_error(ModuleError::Code code, std::string message,
                                                 std::string hint = {}) {
    return std::unexpected(ModuleError{code, std::move(message), {}, std::move(hint)});
}

}  // namespace weft::js
