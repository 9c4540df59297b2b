#include "weft/fiber/report/symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/format.h"
#include "weft/fiber/report/libdw.h"
#include "weft/fiber/schedule/plain_thread.h"

namespace weft::symbols {
namespace {

constexpr std::size_t kNameBytesMax = 200;  // of a function; templates can be far longer

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

std::string limited(std::string name) {
    if (name.size() > kNameBytesMax) {
        name.resize(kNameBytesMax);
        name += "...";
    }
    return name;
}

std::string readable(const char* symbol) {
    int status = 0;
    std::unique_ptr<char, Free> demangled(abi::__cxa_demangle(symbol, nullptr, nullptr, &status));
    std::string name = status == 0 ? demangled.get() : symbol;
    // A part that the compiler has split off still belongs to the function.
    if (std::size_t clone = name.find(" [clone "); clone != std::string::npos) name.resize(clone);
    return limited(std::move(name));
}

std::string from_dynamic_linker(std::uintptr_t address) {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(address), &info) == 0) return format("{:#x}", address);
    std::string_view file = info.dli_fname ? info.dli_fname : "";
    file.remove_prefix(std::min(file.rfind('/') + 1, file.size()));
    if (!info.dli_sname)
        return format("{}+{:#x}", file, address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    return format("{}+{:#x} ({})", readable(info.dli_sname),
                  address - reinterpret_cast<std::uintptr_t>(info.dli_saddr), file);
}

#ifdef WEFT_SYMBOLS

// Removes the folders that the path shares with the compiler's working folder, which usually lies
// in the source tree.
std::string shortened(std::string_view path, std::string_view folder) {
    while (path.starts_with("./")) path.remove_prefix(2);
    while (folder.starts_with("./")) folder.remove_prefix(2);
    // The compiler's prefix maps have made both relative to the root of the source tree.
    if (!path.starts_with('/')) {
        if (path.starts_with(folder) && path.substr(folder.size()).starts_with('/')) {
            path.remove_prefix(folder.size());
            while (path.starts_with('/') || path.starts_with("./"))
                path.remove_prefix(path.starts_with('/') ? 1 : 2);
        }
        return std::string(path);
    }
    auto [differs, _] = std::ranges::mismatch(path, folder);
    auto same = static_cast<std::size_t>(differs - path.begin());
    bool whole = same == folder.size() && path.substr(same).starts_with('/');
    std::size_t cut = whole ? same + 1 : path.substr(0, same).rfind('/') + 1;
    return std::string(path.substr(cut > 1 ? cut : 0));
}

class Reader {
public:
    explicit Reader(const Libdw& libdw) : libdw_(libdw), program_(libdw) {}

    std::string describe(std::uintptr_t address) {
        Dwfl_Module* module =
            program_.dwfl() ? libdw_.dwfl_addrmodule(program_.dwfl(), address) : nullptr;
        if (!module) return from_dynamic_linker(address);
        GElf_Off offset = 0;
        GElf_Sym symbol{};
        const char* name = libdw_.dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr,
                                                       nullptr, nullptr);
        Dwarf_Addr bias = 0;
        Dwarf_Die* unit = unit_of(module, address, bias);
        std::string place = unit ? line_of(unit, address - bias) : std::string();
        if (!name && place.empty()) return from_dynamic_linker(address);
        std::string function = name ? readable(name) : "?";
        if (place.empty()) return format("{}+{:#x} ({})", function, offset, file_of(module));
        std::string text;
        add_inlined(unit, address - bias, text, place);
        return text + format("{} ({})", function, place);
    }

private:
    Dwarf_Die* unit_of(Dwfl_Module* module, std::uintptr_t address, Dwarf_Addr& bias) {
        if (Dwarf_Die* unit = libdw_.dwfl_module_addrdie(module, address, &bias)) return unit;
        // Clang writes no table of address ranges.
        Dwarf_Die* unit = nullptr;
        while ((unit = libdw_.dwfl_module_nextcu(module, unit, &bias))) {
            if (libdw_.dwarf_haspc(unit, address - bias) == 1) return unit;
        }
        return nullptr;
    }

    std::string line_of(Dwarf_Die* unit, Dwarf_Addr address) {
        Dwarf_Line* line = libdw_.dwarf_getsrc_die(unit, address);
        int number = 0;
        if (!line || libdw_.dwarf_lineno(line, &number) != 0) return {};
        const char* path = libdw_.dwarf_linesrc(line, nullptr, nullptr);
        return path ? format("{}:{}", shortened(path, folder_of(unit)), number) : std::string();
    }

    // Adds each function that was inlined here, innermost first; `place` becomes that of the
    // outermost call.
    void add_inlined(Dwarf_Die* unit, Dwarf_Addr address, std::string& text, std::string& place) {
        std::vector<Dwarf_Die> scopes;
        if (!find_scopes(unit, address, Within::Namespaces, scopes))
            find_scopes(unit, address, Within::All, scopes);
        for (Dwarf_Die& scope : scopes | std::views::reverse) {
            int tag = libdw_.dwarf_tag(&scope);
            if (tag == DW_TAG_subprogram) return;
            if (tag != DW_TAG_inlined_subroutine) continue;
            text += format("{} ({}){}", name_of(&scope), place, kInlinedIn);
            place = call_of(unit, &scope);
        }
    }

    // The function that contains the address, and the functions inlined there, outermost first.
    // Not by dwarf_getscopes(), which finds nothing if the inlined function was written in another
    // unit, as with -flto, nor in a namespace, where Clang puts its functions. Most functions are
    // in namespaces; those of local classes are inside another function.
    enum class Within : bool { Namespaces, All };
    bool find_scopes(Dwarf_Die* parent, Dwarf_Addr address, Within within,
                     std::vector<Dwarf_Die>& scopes) {
        Dwarf_Die child{};
        if (libdw_.dwarf_child(parent, &child) != 0) return false;
        do {
            int tag = libdw_.dwarf_tag(&child);
            bool has_code = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
                            tag == DW_TAG_lexical_block;
            if (has_code && libdw_.dwarf_haspc(&child, address) == 1) {
                scopes.push_back(child);
                find_scopes(&child, address, within, scopes);
                return true;
            }
            bool is_scope =
                tag == DW_TAG_namespace || (within == Within::All && (has_code || is_class(tag)));
            if (is_scope && find_scopes(&child, address, within, scopes)) return true;
        } while (libdw_.dwarf_siblingof(&child, &child) == 0);
        return false;
    }

    static bool is_class(int tag) {
        return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
    }

    std::string name_of(Dwarf_Die* scope) {
        Dwarf_Attribute attribute{};
        const char* name = nullptr;
        if (libdw_.dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute))
            name = libdw_.dwarf_formstring(&attribute);
        return name ? readable(name) : name_as_written(*scope);
    }

    // The name of a function without a linkage name: a lambda, or a template instantiated with one.
    std::string name_as_written(Dwarf_Die declared) {
        for (unsigned attribute_name : {DW_AT_abstract_origin, DW_AT_specification}) {
            Dwarf_Attribute attribute{};
            Dwarf_Die other{};
            if (libdw_.dwarf_attr(&declared, attribute_name, &attribute) &&
                libdw_.dwarf_formref_die(&attribute, &other))
                declared = other;
        }
        auto [known, is_new] = names_.try_emplace(declared.addr);
        if (!is_new) return known->second;
        const char* own = libdw_.dwarf_diename(&declared);
        std::string name = own ? own : "?";
        Dwarf_Die* found = nullptr;
        int count = libdw_.dwarf_getscopes_die(&declared, &found);
        std::unique_ptr<Dwarf_Die, Free> scopes(count > 0 ? found : nullptr);
        for (int i = 1; i < count; ++i) {  // the first is the function itself
            Dwarf_Die* scope = &scopes.get()[i];
            int tag = libdw_.dwarf_tag(scope);
            if (tag != DW_TAG_namespace && tag != DW_TAG_subprogram && !is_class(tag)) continue;
            const char* part = libdw_.dwarf_diename(scope);
            const char* unnamed = tag == DW_TAG_namespace ? "(anonymous namespace)" : "{lambda}";
            name = format("{}::{}", part ? part : unnamed, name);
        }
        return known->second = limited(std::move(name));
    }

    std::string call_of(Dwarf_Die* unit, Dwarf_Die* scope) {
        Dwarf_Attribute attribute{};
        Dwarf_Word file = 0;
        Dwarf_Word line = 0;
        Dwarf_Files* files = nullptr;
        std::size_t count = 0;
        if (!libdw_.dwarf_attr_integrate(scope, DW_AT_call_file, &attribute) ||
            libdw_.dwarf_formudata(&attribute, &file) != 0 ||
            !libdw_.dwarf_attr_integrate(scope, DW_AT_call_line, &attribute) ||
            libdw_.dwarf_formudata(&attribute, &line) != 0 ||
            libdw_.dwarf_getsrcfiles(unit, &files, &count) != 0) {
            return "?";
        }
        const char* path = libdw_.dwarf_filesrc(files, file, nullptr, nullptr);
        return path ? format("{}:{}", shortened(path, folder_of(unit)), line) : "?";
    }

    std::string_view folder_of(Dwarf_Die* unit) {
        Dwarf_Attribute attribute{};
        if (!libdw_.dwarf_attr_integrate(unit, DW_AT_comp_dir, &attribute)) return {};
        const char* folder = libdw_.dwarf_formstring(&attribute);
        return folder ? folder : "";
    }

    std::string_view file_of(Dwfl_Module* module) {
        const char* path = nullptr;
        libdw_.dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &path,
                                nullptr);
        std::string_view file = path ? path : "?";
        file.remove_prefix(std::min(file.rfind('/') + 1, file.size()));
        return file;
    }

    const Libdw& libdw_;
    LoadedProgram program_;
    std::map<void*, std::string> names_;  // by the address of the declaration
};

#endif

struct Request {
    std::span<const std::uintptr_t> addresses;
    std::vector<std::string> texts;
};

void answer(void* argument) {
    auto& request = *static_cast<Request*>(argument);
    request.texts.reserve(request.addresses.size());
    std::map<std::uintptr_t, std::size_t> known;
#ifdef WEFT_SYMBOLS
    std::unique_ptr<Reader> reader;
    if (const Libdw* libdw = Libdw::get()) reader = std::make_unique<Reader>(*libdw);
    auto look_up = [&](std::uintptr_t address) {
        return reader ? reader->describe(address) : from_dynamic_linker(address);
    };
#else
    auto look_up = from_dynamic_linker;
#endif
    for (std::uintptr_t address : request.addresses) {
        auto [entry, is_new] = known.try_emplace(address, request.texts.size());
        request.texts.push_back(is_new ? look_up(address) : request.texts[entry->second]);
    }
}

}  // namespace

std::vector<std::string> describe(std::span<const std::uintptr_t> addresses) {
    Request request{addresses, {}};
    if (addresses.empty()) return {};
    static_cast<void>(call_on_plain_thread(answer, &request));
    request.texts.resize(addresses.size(), "?");
    return std::move(request.texts);
}

std::string describe(std::uintptr_t address) { return describe(std::span(&address, 1)).front(); }

}  // namespace weft::symbols
