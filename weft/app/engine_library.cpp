#include "weft/app/engine_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
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

// Whether relocations have been written into segments that are otherwise constant.
bool has_text_relocations(std::span<const ElfW(Phdr)> segments, ElfW(Addr) base) {
    auto dynamic = std::ranges::find(segments, PT_DYNAMIC, &ElfW(Phdr)::p_type);
    if (dynamic == segments.end()) return false;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base + dynamic->p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
        bool flagged = entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0;
        if (entry->d_tag == DT_TEXTREL || flagged) return true;
    }
    return false;
}

int release_constant_pages_of(dl_phdr_info* library, std::size_t, void*) {
    std::span<const ElfW(Phdr)> segments(library->dlpi_phdr, library->dlpi_phnum);
    if (has_text_relocations(segments, library->dlpi_addr)) return 0;
    auto page = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
    for (const ElfW(Phdr) & segment : segments) {
        if (segment.p_type != PT_LOAD || segment.p_flags != PF_R) continue;
        // Only whole pages: the last one may be shared with what is mapped next.
        ElfW(Addr) begin = (library->dlpi_addr + segment.p_vaddr + page - 1) & ~(page - 1);
        ElfW(Addr) end = (library->dlpi_addr + segment.p_vaddr + segment.p_filesz) & ~(page - 1);
        // If it fails, the pages stay resident.
        if (begin < end)
            static_cast<void>(
                ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
    }
    return 0;
}

Result<std::unique_ptr<api::Host>> load(Runtime& runtime) {
    void* library = ::dlopen(path_of_library().c_str(), RTLD_NOW | RTLD_LOCAL | lookup());
    void* symbol = library != nullptr ? ::dlsym(library, api::kOpenHost) : nullptr;
    if (symbol == nullptr) {
        const char* why = ::dlerror();
        return Error(ErrorKind::Unavailable, format("the JavaScript engine cannot be loaded: {}",
                                                    why != nullptr ? why : kLibrary));
    }
    release_constant_pages();
    std::unique_ptr<api::Host> host;
    reinterpret_cast<api::OpenHost>(symbol)(runtime, host);
    return host;
}

}  // namespace

void release_constant_pages() { ::dl_iterate_phdr(release_constant_pages_of, nullptr); }

Result<std::unique_ptr<AppHost>> open_engine(Runtime& runtime) {
    // Called when a script is needed; requests that need none are served before.
    auto open = [&runtime] { return blocking([&] { return load(runtime); }); };
    return std::unique_ptr<AppHost>(
        std::make_unique<EngineHost>(runtime, open, code_cache_folder()));
}

}  // namespace weft::app
