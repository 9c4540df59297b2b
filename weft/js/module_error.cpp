#include "weft/js/module_error.h"

namespace weft::js {

std::string_view to_string(ModuleError::Code code) noexcept {
    switch (code) {
    case ModuleError::Code::NotFound: return "ERR_MODULE_NOT_FOUND";
    case ModuleError::Code::Folder: return "ERR_UNSUPPORTED_DIR_IMPORT";
    case ModuleError::Code::InvalidSpecifier: return "ERR_INVALID_MODULE_SPECIFIER";
    case ModuleError::Code::InvalidPackage: return "ERR_INVALID_PACKAGE_CONFIG";
    case ModuleError::Code::InvalidTarget: return "ERR_INVALID_PACKAGE_TARGET";
    case ModuleError::Code::NotExported: return "ERR_PACKAGE_PATH_NOT_EXPORTED";
    case ModuleError::Code::NotDefined: return "ERR_PACKAGE_IMPORT_NOT_DEFINED";
    case ModuleError::Code::Blocked: return "ERR_IMPORT_MAP_BLOCKED";
    case ModuleError::Code::Unsupported: return "ERR_UNSUPPORTED_MODULE";
    }
    return "ERR_MODULE";
}

std::string ModuleError::text() const {
    std::string text = message;
    for (const std::string& path : tried) {
        text += "\n  tried ";
        text += path;
    }
    if (!hint.empty()) {
        text += '\n';
        text += hint;
    }
    return text;
}

}  // namespace weft::js
