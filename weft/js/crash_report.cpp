#include "weft/js/crash_report.h"

// tidy: allow-file foreign: ELF notes, and a report in a process that is about to end

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/atomic.h"
#include "weft/base/format.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"

extern "C" {
extern const char weft_version[];  // see api/snapshot/CMakeLists.txt
}

namespace weft::js {
namespace {

constexpr int kFramesMax = 20;

// Each part is written as soon as it is known: finding out the next one may crash as well.
void write_stderr(std::string_view text) {
    while (!text.empty()) {
        ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
        if (count <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

// The build id in the ELF notes of a loaded object, in hexadecimal digits; empty if there is none.
std::string build_id_in(std::span<const std::byte> notes) {
    while (notes.size() > sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;
        std::memcpy(&head, notes.data(), sizeof head);
        std::size_t name_bytes = (head.n_namesz + 3U) & ~std::size_t{3};
        std::size_t value_bytes = (head.n_descsz + 3U) & ~std::size_t{3};
        notes = notes.subspan(sizeof head);
        if (name_bytes + value_bytes > notes.size()) return {};
        std::span<const std::byte> value = notes.subspan(name_bytes, head.n_descsz);
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof ELF_NOTE_GNU &&
            std::memcmp(notes.data(), ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
            std::string digits;
            for (std::byte part : value) digits += format("{:02x}", static_cast<unsigned>(part));
            return digits;
        }
        notes = notes.subspan(name_bytes + value_bytes);
    }
    return {};
}

// The build id of the object that contains this code.
std::string build_id() {
    std::string found;
    auto visit = [](dl_phdr_info* object, std::size_t, void* result) {
        auto address_of = [&](const ElfW(Phdr) & segment) {
            return object->dlpi_addr + segment.p_vaddr;
        };
        std::span segments(object->dlpi_phdr, object->dlpi_phnum);
        auto here = reinterpret_cast<ElfW(Addr)>(&build_id_in);
        bool is_ours = false;
        for (const ElfW(Phdr) & segment : segments)
            is_ours |= segment.p_type == PT_LOAD && here - address_of(segment) < segment.p_memsz;
        if (!is_ours) return 0;
        auto& id = *static_cast<std::string*>(result);
        for (const ElfW(Phdr) & segment : segments) {
            if (segment.p_type != PT_NOTE || !id.empty()) continue;
            auto* begin = reinterpret_cast<const std::byte*>(address_of(segment));
            id = build_id_in(std::span(begin, segment.p_memsz));
        }
        return 1;
    };
    ::dl_iterate_phdr(visit, &found);
    return found.empty() ? "without an id" : found;
}

std::string text_of_frame(v8::Isolate* isolate, v8::Local<v8::StackFrame> frame) {
    auto text = [&](v8::Local<v8::String> value) {
        return value.IsEmpty() ? std::string() : to_text(isolate, value);
    };
    std::string name = text(frame->GetFunctionName());
    return format("  at {} ({}:{}:{})\n", name.empty() ? "<anonymous>" : name,
                  text(frame->GetScriptNameOrSourceURL()), frame->GetLineNumber(),
                  frame->GetColumn());
}

void write_stack(v8::Isolate* isolate) {
    if (!isolate->InContext()) return write_stderr("  no JavaScript was running\n");
    v8::HandleScope handles(isolate);
    v8::Local<v8::StackTrace> stack = v8::StackTrace::CurrentStackTrace(isolate, kFramesMax);
    for (int at = 0; at < stack->GetFrameCount(); ++at)
        write_stderr(
            text_of_frame(isolate, stack->GetFrame(isolate, static_cast<std::uint32_t>(at))));
}

[[noreturn]] void report(std::string_view what) {
    static Atomic<bool> reporting{false};
    // Relaxed: no other memory is read through it. A second report comes from making the first.
    if (!reporting.exchange(true, std::memory_order_relaxed)) {
        write_stderr(format("weft: fatal: V8: {}\n  weft {}, V8 {}, build {}\n", what, weft_version,
                            v8::V8::GetVersion(), build_id()));
        if (v8::Isolate* isolate = v8::Isolate::TryGetCurrent()) {
            Isolate& self = Isolate::of(isolate);
            if (self.options().describe_running)
                write_stderr(format("  {}\n", self.options().describe_running()));
            write_stack(isolate);
        }
    }
    std::abort();
}

void on_fatal(const char* location, const char* message) {
    report(format("{}: {}", location ? location : "", message ? message : ""));
}

[[noreturn]] void report_no_memory(const char* location, bool is_heap) {
    report(format("{}: {}", location ? location : "",
                  is_heap ? "the heap is out of memory" : "the process is out of memory"));
}

}  // namespace

void report_crashes_of(v8::Isolate& isolate) {
    isolate.SetFatalErrorHandler(on_fatal);
#if V8_MAJOR_VERSION >= 11
    isolate.SetOOMErrorHandler([](const char* location, const v8::OOMDetails& details) {
        report_no_memory(location, details.is_heap_oom);
    });
#else
    isolate.SetOOMErrorHandler(report_no_memory);
#endif
}

}  // namespace weft::js
