#include "weft/fiber/internal/backtrace.h"

#include "weft/base/format.h"
#include "weft/fiber/internal/fiber_block.h"

#if defined(WEFT_UNWIND) && defined(__x86_64__)

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

namespace weft {
namespace {

constexpr unsigned kFramesMax = 64;

std::string name_of_frame(unw_cursor_t& cursor) {
    char mangled[512];
    unw_word_t offset = 0;
    if (unw_get_proc_name(&cursor, mangled, sizeof mangled, &offset) != 0) return "?";
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> readable(
        abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
    return format("{}+{:#x}", status == 0 ? readable.get() : mangled, offset);
}

}  // namespace

std::vector<std::string> backtrace_of(Fiber& fiber) {
    std::vector<std::string> frames;
    auto* saved = static_cast<SavedRegisters*>(fiber.context.saved_stack_pointer());
    unw_context_t context;
    std::memset(&context, 0, sizeof context);
    auto word = [](const void* pointer) {
        return static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(pointer));
    };
    context.uc_mcontext.gregs[REG_RIP] = word(saved->rip);
    context.uc_mcontext.gregs[REG_RBP] = word(saved->rbp);
    context.uc_mcontext.gregs[REG_RSP] = word(saved + 1);
    unw_cursor_t cursor;
    if (unw_init_local(&cursor, &context) != 0) return frames;
    do {
        unw_word_t address = 0;
        if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0) break;
        frames.push_back(name_of_frame(cursor));
    } while (frames.size() < kFramesMax && unw_step(&cursor) > 0);
    return frames;
}

}  // namespace weft

#else

namespace weft {

std::vector<std::string> backtrace_of(Fiber&) { return {}; }

}  // namespace weft

#endif
