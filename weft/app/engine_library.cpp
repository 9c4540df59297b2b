#include "weft/app/engine_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "weft/api/host.h"
#include "weft/app/cache_folder.h"
#include "weft/app/engine_host.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/fiber/blocking.h"

namespace weft::app {
namespace {

constexpr const char* kLibrary = "libweft-js.so";
// V8's library refers to 55,000 symbols, nearly all of them its own. With RTLD_DEEPBIND they are
// looked up there first; the usual order, the program's libraries first, takes a third longer.
// Sanitizers and preloaded allocators replace functions by that order, so it is kept for them.
int lookup() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    return std::getenv("LD_PRELOAD") ? 0 : RTLD_DEEPBIND;
#endif
}

// The library's path beside libweft; or its name, which the dynamic linker then searches for.
std::string path_of_library() {
    Dl_info libweft{};
    if (::dladdr(reinterpret_cast<void*>(&weft::log_level), &libweft) == 0) return kLibrary;
    std::filesystem::path beside =
        std::filesystem::path(libweft.dli_fname).parent_path() / kLibrary;
    return std::filesystem::exists(beside) ? beside.string() : kLibrary;
}

Result<std::unique_ptr<api::Host>> load(Runtime& runtime) {
    void* library = ::dlopen(path_of_library().c_str(), RTLD_NOW | RTLD_LOCAL | lookup());
    void* symbol = library != nullptr ? ::dlsym(library, api::kOpenHost) : nullptr;
    if (symbol == nullptr) {
        const char* why = ::dlerror();
        return Error(ErrorKind::Unavailable, format("the JavaScript engine cannot be loaded: {}",
                                                    why != nullptr ? why : kLibrary));
    }
    std::unique_ptr<api::Host> host;
    reinterpret_cast<api::OpenHost>(symbol)(runtime, host);
    return host;
}

}  // namespace

Result<std::unique_ptr<AppHost>> open_engine(Runtime& runtime) {
    // Called when a script is needed; requests that need none are served before.
    auto open = [&runtime] { return blocking([&] { return load(runtime); }); };
    return std::unique_ptr<AppHost>(
        std::make_unique<EngineHost>(runtime, open, code_cache_folder()));
}

}  // namespace weft::app
