#include "weft/fiber/report/dump.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/fiber/report/backtrace.h"
#include "weft/fiber/report/snapshot.h"
#include "weft/fiber/switch/fiber_block.h"
#include "weft/fiber/switch/locals.h"

namespace weft {
namespace {

// Keeps a waiting fiber from being resumed: a worker that picks it meanwhile puts it back into its
// queue. True if the fiber was waiting, and its context saved, after the hold took effect.
bool hold_waiting(Fiber& fiber) {
    fiber.held.store(true, std::memory_order_seq_cst);
    std::uint64_t wait = fiber.word.peek();
    // Confirming the wait orders the hold before any later claim, which is made on the same word;
    // so the worker that runs the fiber after that claim sees the hold.
    return wait != 0 && fiber.word.confirm(wait) && fiber.busy.is_over();
}

void let_go(Fiber& fiber) { fiber.held.store(false, std::memory_order_release); }

struct Listed {
    FiberReport report;
    const Fiber* fiber;
    Frames frames;
};

struct Listing {
    std::vector<Listed> fibers;
    const Scheduler* scheduler;  // null: of all
    Backtraces backtraces;
    std::uint32_t now_ms;
};

void look_at(Fiber& fiber, void* argument) {
    auto& listing = *static_cast<Listing*>(argument);
    // Relaxed: a momentary value.
    const Scheduler* scheduler = fiber.scheduler.load(std::memory_order_relaxed);
    if (!scheduler || (listing.scheduler && scheduler != listing.scheduler)) return;
    Listed listed{{}, &fiber, {}};
    FiberReport& report = listed.report;
    report.name = name_of(fiber);
    if (hold_waiting(fiber)) {
        report.state = FiberState::Waiting;
        report.reason = fiber.wait_reason;
        report.object = fiber.wait_object;
        // Negative when it parked after the listing took the time; the clock's low bits may wrap.
        auto waited_ms = static_cast<std::int32_t>(listing.now_ms - fiber.parked_at_ms);
        report.waited = std::chrono::milliseconds(std::max(waited_ms, 0));
        if (listing.backtraces == Backtraces::Yes) listed.frames = frames_of(fiber);
    } else if (!fiber.busy.seems_over()) {
        report.state = FiberState::Running;
    }
    let_go(fiber);
    listing.fibers.push_back(std::move(listed));
}

// Running fibers cannot be held; their frames come from snapshots of their workers.
void look_at_workers(Listing& listing) {
    std::vector<StackSnapshot> snapshots = snapshots_of(listing.scheduler);
    std::vector<Frames> backtraces = frames_of(snapshots);
    WEFT_ASSERT(backtraces.size() == snapshots.size(), "each snapshot has its frames");
    for (std::size_t i = 0; i < snapshots.size(); ++i) {
        auto found = std::ranges::find(listing.fibers, snapshots[i].fiber, &Listed::fiber);
        if (found != listing.fibers.end() && found->report.state == FiberState::Running)
            found->frames = std::move(backtraces[i]);
    }
}

void name_frames(Listing& listing) {
    std::vector<Frames> backtraces;
    for (Listed& listed : listing.fibers) backtraces.push_back(std::move(listed.frames));
    std::vector<std::vector<std::string>> texts = describe_frames(backtraces);
    WEFT_ASSERT(texts.size() == listing.fibers.size(), "each backtrace has its lines");
    for (std::size_t i = 0; i < texts.size(); ++i)
        listing.fibers[i].report.frames = std::move(texts[i]);
}

const char* to_string(FiberState state) {
    static constexpr const char* kNames[] = {"ready", "running", "waiting"};
    return kNames[static_cast<unsigned>(state)];
}

std::vector<FiberReport> list(const Scheduler* scheduler, Backtraces backtraces) {
    auto now_ms = static_cast<std::uint32_t>(env::now_ns() / 1'000'000);
    Listing listing{{}, scheduler, backtraces, now_ms};
    fiber_blocks::for_each(look_at, &listing);
    if (backtraces == Backtraces::Yes) {
        look_at_workers(listing);
        name_frames(listing);
    }
    std::vector<FiberReport> fibers;
    for (Listed& listed : listing.fibers) fibers.push_back(std::move(listed.report));
    std::ranges::stable_sort(fibers, std::greater(), &FiberReport::waited);
    return fibers;
}

}  // namespace

std::vector<FiberReport> list_fibers(Backtraces backtraces) { return list(nullptr, backtraces); }

std::vector<FiberReport> list_fibers_of(const Scheduler& scheduler, Backtraces backtraces) {
    return list(&scheduler, backtraces);
}

std::string dump_fibers(Backtraces backtraces) {
    std::vector<FiberReport> fibers = list_fibers(backtraces);
    std::string text = format("weft: {} fibers\n", fibers.size());
    for (const FiberReport& fiber : fibers) {
        std::string_view name = fiber.name.empty() ? "unnamed" : std::string_view(fiber.name);
        text += format("fiber '{}': {}", name, to_string(fiber.state));
        if (fiber.state == FiberState::Waiting) {
            text += format(" on {} for {} ms", to_string(fiber.reason), fiber.waited.count());
        }
        text += '\n';
        for (const std::string& frame : fiber.frames) text += format("    {}\n", frame);
    }
    return text;
}

}  // namespace weft
