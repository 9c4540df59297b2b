#include "weft/sim/internal/story.h"

#include <dlfcn.h>  // tidy: allow foreign: which library an address is in
#include <unwind.h>

#include <algorithm>
#include <array>

#include "weft/base/format.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/naming.h"
#include "weft/fiber/report/symbols.h"

namespace weft::sim {
namespace {

constexpr std::size_t kFramesMax = 32;
constexpr std::size_t kValueBytesMax = 24;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
    auto& frames = *static_cast<std::vector<std::uintptr_t>*>(argument);
    // A return address is behind its call instruction.
    if (std::uintptr_t address = _Unwind_GetIP(context); address != 0)
        frames.push_back(address - 1);
    return frames.size() < kFramesMax ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// Whether the path leads into the library's own tree: "weft/" and one of its folders. The path is
// such in the source tree, in an installation, and in a program that builds the library itself.
bool is_in_tree(std::string_view path) {
    constexpr std::array folders = {"base/", "fiber/", "sync/", "async/",  "c/",
                                    "net/",  "http/",  "sim/",  "testing/"};
    constexpr std::string_view root = "weft/";
    for (std::size_t at = path.find(root); at != std::string_view::npos;
         at = path.find(root, at + 1)) {
        std::string_view rest = path.substr(at + root.size());
        bool is_component = at == 0 || path[at - 1] == '/';
        if (is_component &&
            std::ranges::any_of(folders, [&](const char* f) { return rest.starts_with(f); }))
            return true;
    }
    return false;
}

bool is_header(std::string_view file) { return file.contains(".h:"); }

// True for names as the linker's symbols have them, "shop::sell<int>" or "sell(int)"; false for
// "sell" and "sell<int>".
bool is_qualified(std::string_view function) {
    std::size_t end = function.find_first_of("<(");
    std::string_view name = function.substr(0, end);
    if (name.contains("::") || name.contains(' ')) return true;
    return end != std::string_view::npos && function[end] == '(' && name != "operator";
}

// Whether the frame is Weft's own or the standard library's.
bool is_library(std::string_view frame) {
    // "function (file:line)", or without line numbers "function+0x12 (module)".
    std::size_t open = frame.rfind(" (");
    if (open == std::string_view::npos) return true;
    std::string_view file = frame.substr(open + 2);
    if (file.find(':') == std::string_view::npos) {
        constexpr std::array hidden = {"weft::", "std::", "void weft::", "void std::", "_", "?"};
        return std::ranges::any_of(hidden, [&](const char* p) { return frame.starts_with(p); });
    }
    if (file.starts_with("/usr/") || file.find("/c++/") != std::string_view::npos ||
        file.find("bits/") != std::string_view::npos)
        return true;
    // Tests of the library are programs as well.
    if (!is_in_tree(file) || file.find("_test.cpp:") != std::string_view::npos) return false;
    // A program's folders may have the same names as Weft's, but its functions are not in weft::.
    // With few symbols (-g1) inlined functions are named without their namespace: those in headers
    // are then taken for Weft's.
    std::string_view function = frame.substr(0, open);
    if (function == "?" || function.substr(0, function.find('(')).contains("weft")) return true;
    return is_header(file) && !is_qualified(function);
}

// Whether the code is in a library of Weft. Code of Weft's headers may be in the program.
bool is_in_our_module(std::uintptr_t address) {
    Dl_info module{};
    if (::dladdr(reinterpret_cast<void*>(address), &module) == 0 || !module.dli_fname) return false;
    std::string_view path = module.dli_fname;
    return path.substr(path.rfind('/') + 1).starts_with("libweft");
}

}  // namespace

std::vector<std::uintptr_t> frames_here() {
    std::vector<std::uintptr_t> frames;
    _Unwind_Backtrace(add_frame, &frames);
    return frames;
}

std::string place_in_program(std::span<const std::string> frames,
                             std::span<const std::uintptr_t> addresses) {
    constexpr std::string_view inlined = " inlined in ";
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i < addresses.size() && is_in_our_module(addresses[i])) continue;
        std::string_view frame = frames[i];
        // What was inlined into a function of Weft's sources is Weft's as well, whatever its name.
        std::size_t last = frame.rfind(inlined);
        std::string_view outermost =
            last == std::string_view::npos ? frame : frame.substr(last + inlined.size());
        if (is_library(outermost) && !is_header(outermost)) continue;
        for (;;) {
            std::size_t end = frame.find(inlined);
            std::string_view one = frame.substr(0, end);
            if (!is_library(one)) return std::string(one);
            if (end == std::string_view::npos) break;
            frame.remove_prefix(end + inlined.size());
        }
    }
    return {};
}

std::string describe_fibers(Backtraces backtraces) {
    std::string text;
    for (const FiberReport& fiber : list_fibers(backtraces)) {
        text += format("  fiber '{}': ", fiber.name.empty() ? "unnamed" : fiber.name);
        if (fiber.state == FiberState::Waiting) {
            text +=
                format("waiting on {} for {} ms", to_string(fiber.reason), fiber.waited.count());
        } else {
            text += fiber.state == FiberState::Running ? "running" : "ready";
        }
        if (std::string place = place_in_program(fiber.frames); !place.empty())
            text += format(" at {}", place);
        text += '\n';
    }
    return text;
}

std::string Story::who(std::string_view thread) {
    Fiber* fiber = current();
    if (!fiber) return std::string(thread);
    // Only a name that was given: a label is the same for many fibers.
    if (std::string_view name = given_name(); !name.empty()) return format("'{}'", name);
    auto number = static_cast<unsigned>(fibers_.size() + 1);
    auto [found, _] = fibers_.try_emplace({fiber, fiber->generation}, number);
    return format("fiber {}", found->second);
}

std::string Story::name_of(std::string_view kind, const void* object) {
    auto [found, is_new] = objects_.try_emplace({std::string(kind), object}, 0);
    if (is_new) found->second = ++counts_[std::string(kind)];
    return format("{} {}", kind, found->second);
}

void Story::add_operation(std::uint64_t step, std::string_view thread, const char* operation,
                          const void* object, std::string_view value) {
    std::string_view name = operation;
    std::size_t dot = name.find('.');
    std::string what(name);
    if (dot != std::string_view::npos)
        what = format("{}  {}", name_of(name.substr(0, dot), object), name.substr(dot + 1));
    if (!value.empty() && value.size() <= kValueBytesMax) what += format(" {}", value);
    entries_.push_back({step, who(thread), std::move(what), frames_here()});
}

void Story::add_wait(std::uint64_t step, std::string_view thread, std::string_view reason) {
    entries_.push_back({step, who(thread), format("waits: {}", reason), frames_here()});
}

void Story::add_preemption(std::uint64_t step, std::string_view thread, std::string_view next) {
    entries_.push_back({step, who(thread), format("-- interrupted: {} goes on --", next), {}});
}

void Story::add_event(std::uint64_t step, std::string_view thread, std::string_view event) {
    entries_.push_back({step, who(thread), format("-- {} --", event), {}});
}

std::vector<std::string> Story::lines() const {
    std::vector<std::uintptr_t> addresses;
    for (const Entry& entry : entries_)
        addresses.insert(addresses.end(), entry.frames.begin(), entry.frames.end());
    std::vector<std::string> texts = symbols::describe(addresses);
    std::vector<std::string> lines;
    std::size_t at = 0;
    std::size_t widest = 8;
    for (const Entry& entry : entries_) widest = std::max(widest, entry.who.size());
    for (const Entry& entry : entries_) {
        std::vector<std::string> frames(
            texts.begin() + static_cast<std::ptrdiff_t>(at),
            texts.begin() + static_cast<std::ptrdiff_t>(at + entry.frames.size()));
        at += entry.frames.size();
        std::string line = format("{:>7}  {:<{}}  {:<28}", entry.step, entry.who,
                                  std::min<std::size_t>(widest, 24), entry.what);
        std::string place = place_in_program(frames, entry.frames);
        if (!place.empty()) line += "  " + place;
        line.erase(line.find_last_not_of(' ') + 1);
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace weft::sim
