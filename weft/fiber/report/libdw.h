// libdw of elfutils, loaded when it is first needed: a program that never takes a backtrace neither
// pays for it nor needs it installed. The library is not linked with it.
#pragma once

#ifdef WEFT_SYMBOLS

#include <dwarf.h>
#include <elfutils/libdwfl.h>

namespace weft {

struct Libdw {
    // The functions of libdw, by their own names.
    decltype(&::dwfl_begin) dwfl_begin;
    decltype(&::dwfl_end) dwfl_end;
    decltype(&::dwfl_linux_proc_report) dwfl_linux_proc_report;
    decltype(&::dwfl_report_end) dwfl_report_end;
    decltype(&::dwfl_build_id_find_debuginfo) dwfl_build_id_find_debuginfo;
    decltype(&::dwfl_addrmodule) dwfl_addrmodule;
    decltype(&::dwfl_module_info) dwfl_module_info;
    decltype(&::dwfl_module_addrinfo) dwfl_module_addrinfo;
    decltype(&::dwfl_module_addrdie) dwfl_module_addrdie;
    decltype(&::dwfl_module_nextcu) dwfl_module_nextcu;
    decltype(&::dwfl_attach_state) dwfl_attach_state;
    decltype(&::dwfl_getthread_frames) dwfl_getthread_frames;
    decltype(&::dwfl_thread_state_registers) dwfl_thread_state_registers;
    decltype(&::dwfl_thread_state_register_pc) dwfl_thread_state_register_pc;
    decltype(&::dwfl_frame_pc) dwfl_frame_pc;
    decltype(&::dwarf_haspc) dwarf_haspc;
    decltype(&::dwarf_getsrc_die) dwarf_getsrc_die;
    decltype(&::dwarf_linesrc) dwarf_linesrc;
    decltype(&::dwarf_lineno) dwarf_lineno;
    decltype(&::dwarf_child) dwarf_child;
    decltype(&::dwarf_siblingof) dwarf_siblingof;
    decltype(&::dwarf_getscopes_die) dwarf_getscopes_die;
    decltype(&::dwarf_getsrcfiles) dwarf_getsrcfiles;
    decltype(&::dwarf_filesrc) dwarf_filesrc;
    decltype(&::dwarf_tag) dwarf_tag;
    decltype(&::dwarf_diename) dwarf_diename;
    decltype(&::dwarf_attr) dwarf_attr;
    decltype(&::dwarf_attr_integrate) dwarf_attr_integrate;
    decltype(&::dwarf_formref_die) dwarf_formref_die;
    decltype(&::dwarf_formstring) dwarf_formstring;
    decltype(&::dwarf_formudata) dwarf_formudata;

    // Null where there is none. Any thread.
    static const Libdw* get();
};

// The program as it is mapped when this is constructed. One thread at a time.
class LoadedProgram {
public:
    explicit LoadedProgram(const Libdw& libdw);
    ~LoadedProgram();
    LoadedProgram(const LoadedProgram&) = delete;
    LoadedProgram& operator=(const LoadedProgram&) = delete;

    Dwfl* dwfl() const { return dwfl_; }  // null: it could not be read

private:
    const Libdw& libdw_;
    Dwfl_Callbacks callbacks_{};
    Dwfl* dwfl_ = nullptr;
};

}  // namespace weft

#endif
