#include "weft/fiber/report/backtrace.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/fiber/report/libdw.h"
#include "weft/fiber/report/snapshot.h"
#include "weft/fiber/report/symbols.h"
#include "weft/fiber/schedule/plain_thread.h"
#include "weft/fiber/switch/fiber_block.h"

#if defined(WEFT_UNWIND) && defined(__x86_64__)
#include <cstring>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

namespace weft {
namespace {

constexpr std::size_t kFramesMax = 64;

// The runtime's own frames: those by which a fiber waits, was started, and takes a dump.
bool is_of_a_wait(std::string_view frame) {
    static constexpr std::string_view kOwn[] = {"weft_context_switch",
                                                "weft::SavedContext::",
                                                "weft::Worker::",
                                                "weft::Waiter::",
                                                "weft::QuickWait::",
                                                "weft::sync_internal::WaitQueue::",
                                                "weft::sync_internal::ChannelCore::wait"};
    return std::ranges::any_of(kOwn, [&](auto own) { return frame.starts_with(own); });
}
bool is_of_the_start(std::string_view frame) {
    return frame.starts_with("weft_context_start") || frame.starts_with("weft::Worker::") ||
           frame.starts_with("weft::fiber_internal::Body<") ||
           frame.starts_with("call (weft/fiber/fiber.h:");
}
bool is_of_the_dump(std::string_view frame) {
    return frame.starts_with("weft::list_fibers") || frame.starts_with("weft::dump_fibers");
}

// One line for each function, inlined ones included.
std::vector<std::string> lines_of(std::span<const std::string> texts) {
    std::vector<std::string> lines;
    for (std::string_view text : texts) {
        for (std::size_t at = 0; (at = text.find(symbols::kInlinedIn)) != text.npos;) {
            lines.emplace_back(text.substr(0, at));
            text.remove_prefix(at + symbols::kInlinedIn.size());
        }
        lines.emplace_back(text);
    }
    return lines;
}

std::vector<std::string> without_own_frames(std::vector<std::string> lines) {
    auto dumping = std::ranges::find_if(lines.rbegin(), lines.rend(), is_of_the_dump);
    auto first = std::find_if_not(dumping.base(), lines.end(), is_of_a_wait);
    auto last = lines.end();
    while (last != first && is_of_the_start(*(last - 1))) --last;
    // A fiber of the runtime itself may have no other frames: then all are shown.
    if (first == last) return lines;
    return {std::move_iterator(first), std::move_iterator(last)};
}

}  // namespace

std::vector<std::vector<std::string>> describe_frames(std::span<const Frames> backtraces) {
    Frames all;
    for (const Frames& frames : backtraces) all.insert(all.end(), frames.begin(), frames.end());
    std::vector<std::string> texts = symbols::describe(all);
    WEFT_ASSERT(texts.size() == all.size(), "each address has a text");
    std::vector<std::vector<std::string>> described;
    auto from = texts.begin();
    for (const Frames& frames : backtraces) {
        auto to = from + static_cast<std::ptrdiff_t>(frames.size());
        described.push_back(without_own_frames(lines_of({from, to})));
        from = to;
    }
    return described;
}

#if defined(WEFT_UNWIND) && defined(__x86_64__)

Frames frames_of(Fiber& fiber) {
    Frames frames;
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
        frames.push_back(address - 1);
    } while (frames.size() < kFramesMax && unw_step(&cursor) > 0);
    return frames;
}

#else

Frames frames_of(Fiber&) { return {}; }

#endif

#if defined(WEFT_SYMBOLS) && defined(__x86_64__)

namespace {

// libdw's unwinder over a snapshot. All that it reads of the stack comes from the snapshot; so one
// that was taken at an unlucky moment gives wrong frames at worst.
class Unwinder {
public:
    explicit Unwinder(const Libdw& libdw) : libdw_(libdw), program_(libdw) {
        attached_ = program_.dwfl() &&
                    libdw_.dwfl_attach_state(program_.dwfl(), nullptr, getpid(), &kCallbacks, this);
    }

    Frames unwind(const StackSnapshot& snapshot) {
        frames_.clear();
        snapshot_ = &snapshot;
        if (attached_) libdw_.dwfl_getthread_frames(program_.dwfl(), kThread, add_frame, this);
        return std::move(frames_);
    }

private:
    static constexpr pid_t kThread = 1;  // an arbitrary id: the snapshot is the only thread

    static bool get_thread(Dwfl*, pid_t, void* self, void** thread) {
        *thread = self;
        return true;
    }
    static pid_t next_thread(Dwfl*, void* self, void** thread) {
        if (*thread) return 0;
        *thread = self;
        return kThread;
    }
    static bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self) {
        const StackSnapshot& snapshot = *static_cast<Unwinder*>(self)->snapshot_;
        std::uintptr_t begin = snapshot.begin;
        if (address < begin || address % sizeof(std::uintptr_t) != 0) return false;
        std::size_t index = (address - begin) / sizeof(std::uintptr_t);
        if (index >= snapshot.words.size()) return false;
        *result = snapshot.words[index];
        return true;
    }
    static bool set_registers(Dwfl_Thread* thread, void* self) {
        auto& unwinder = *static_cast<Unwinder*>(self);
        Dwarf_Word words[StackSnapshot::kRegisterCount];
        std::ranges::copy(unwinder.snapshot_->registers, words);
        return unwinder.libdw_.dwfl_thread_state_registers(thread, 0, StackSnapshot::kRegisterCount,
                                                           words);
    }
    static int add_frame(Dwfl_Frame* frame, void* self) {
        auto& unwinder = *static_cast<Unwinder*>(self);
        Dwarf_Addr address = 0;
        bool is_exact = false;  // not a return address
        if (!unwinder.libdw_.dwfl_frame_pc(frame, &address, &is_exact) || address == 0)
            return DWARF_CB_ABORT;
        unwinder.frames_.push_back(is_exact ? address : address - 1);
        return unwinder.frames_.size() < kFramesMax ? DWARF_CB_OK : DWARF_CB_ABORT;
    }
    static constexpr Dwfl_Thread_Callbacks kCallbacks{
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
        .detach = nullptr,
        .thread_detach = nullptr,
    };

    const Libdw& libdw_;
    LoadedProgram program_;
    const StackSnapshot* snapshot_ = nullptr;
    Frames frames_;
    bool attached_ = false;
};

struct Request {
    std::span<const StackSnapshot> snapshots;
    std::vector<Frames> answers;
};

void unwind_all(void* argument) {
    auto& request = *static_cast<Request*>(argument);
    const Libdw* libdw = Libdw::get();
    if (!libdw) return;
    Unwinder unwinder(*libdw);
    for (const StackSnapshot& snapshot : request.snapshots)
        request.answers.push_back(unwinder.unwind(snapshot));
}

}  // namespace

std::vector<Frames> frames_of(std::span<const StackSnapshot> snapshots) {
    Request request{snapshots, {}};
    if (!snapshots.empty()) static_cast<void>(call_on_plain_thread(unwind_all, &request));
    request.answers.resize(snapshots.size());
    return std::move(request.answers);
}

#else

std::vector<Frames> frames_of(std::span<const StackSnapshot> snapshots) {
    return std::vector<Frames>(snapshots.size());
}

#endif

}  // namespace weft
