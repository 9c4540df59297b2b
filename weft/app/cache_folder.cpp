#include "weft/app/cache_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace weft::app {
namespace {

std::filesystem::path cache_folder() {
    if (const char* own = std::getenv("WEFT_CACHE_DIR")) return own;
    // https://specifications.freedesktop.org/basedir-spec/latest/: "If an implementation encounters
    // a relative path in any of these variables it should consider the path invalid and ignore it."
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "weft";
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home != '/') return {};
    return std::filesystem::path(home) / ".cache" / "weft";
}

}  // namespace

std::string code_cache_folder() {
    std::filesystem::path folder = cache_folder();
    if (folder.empty()) return {};
    std::error_code error;
    folder = std::filesystem::absolute(folder, error);
    return error ? std::string() : (folder / "code").lexically_normal().string();
}

}  // namespace weft::app
