#include "weft/fiber/report/libdw.h"

#ifdef WEFT_SYMBOLS

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <optional>

namespace weft {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

std::optional<Libdw> load() {
    void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::nullopt;
    Libdw table{};
#define WEFT_FIND(name) find(library, #name, table.name)
    bool complete =
        WEFT_FIND(dwfl_begin) && WEFT_FIND(dwfl_end) && WEFT_FIND(dwfl_linux_proc_report) &&
        WEFT_FIND(dwfl_report_end) && WEFT_FIND(dwfl_build_id_find_debuginfo) &&
        WEFT_FIND(dwfl_addrmodule) && WEFT_FIND(dwfl_module_info) &&
        WEFT_FIND(dwfl_module_addrinfo) && WEFT_FIND(dwfl_module_addrdie) &&
        WEFT_FIND(dwfl_module_nextcu) && WEFT_FIND(dwfl_attach_state) &&
        WEFT_FIND(dwfl_getthread_frames) && WEFT_FIND(dwfl_thread_state_registers) &&
        WEFT_FIND(dwfl_thread_state_register_pc) && WEFT_FIND(dwfl_frame_pc) &&
        WEFT_FIND(dwarf_haspc) && WEFT_FIND(dwarf_getsrc_die) && WEFT_FIND(dwarf_linesrc) &&
        WEFT_FIND(dwarf_lineno) && WEFT_FIND(dwarf_child) && WEFT_FIND(dwarf_siblingof) &&
        WEFT_FIND(dwarf_getscopes_die) && WEFT_FIND(dwarf_getsrcfiles) &&
        WEFT_FIND(dwarf_filesrc) && WEFT_FIND(dwarf_tag) && WEFT_FIND(dwarf_diename) &&
        WEFT_FIND(dwarf_attr) && WEFT_FIND(dwarf_attr_integrate) && WEFT_FIND(dwarf_formref_die) &&
        WEFT_FIND(dwarf_formstring) && WEFT_FIND(dwarf_formudata);
#undef WEFT_FIND
    if (!complete) return std::nullopt;
    return table;
}

// Opens files only: libdw's own function would ask servers in the network for missing ones.
int find_elf(Dwfl_Module*, void**, const char* module_name, Dwarf_Addr, char**, Elf**) {
    return module_name[0] == '/' ? ::open(module_name, O_RDONLY | O_CLOEXEC) : -1;
}

}  // namespace

const Libdw* Libdw::get() {
    static const std::optional<Libdw> table = load();
    return table ? &*table : nullptr;
}

LoadedProgram::LoadedProgram(const Libdw& libdw) : libdw_(libdw) {
    callbacks_.find_elf = find_elf;
    callbacks_.find_debuginfo = libdw.dwfl_build_id_find_debuginfo;
    dwfl_ = libdw.dwfl_begin(&callbacks_);
    if (!dwfl_) return;
    if (libdw.dwfl_linux_proc_report(dwfl_, ::getpid()) == 0 &&
        libdw.dwfl_report_end(dwfl_, nullptr, nullptr) == 0) {
        return;
    }
    libdw.dwfl_end(dwfl_);
    dwfl_ = nullptr;
}

LoadedProgram::~LoadedProgram() {
    if (dwfl_) libdw_.dwfl_end(dwfl_);
}

}  // namespace weft

#endif
