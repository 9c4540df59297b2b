// A schedule: the choices by which a run differs from the plainest run (each thread runs until it
// blocks, then the next one; nothing fails): which thread took over, which fiber gave up its turn,
// what failed. One machine records it, another repeats it, and shorten() looks for the shortest one
// that still fails.
//
// The place of a choice is a thread and the number of one of that thread's own points, so it stays
// the same when choices of other threads are left out. A value.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/result.h"
#include "weft/sim/sim.h"

namespace weft::sim {

enum class FaultKind : std::uint8_t {
    ShortTransfer,
    WouldBlock,
    SpuriousReadiness,
    Delay,
    Pause,
    Allocation,
    Reset,
    Connect,
    Descriptor,
    Buggify,
};
inline constexpr std::size_t kFaultKinds = 10;

struct Choice {
    enum class Act : std::uint8_t { Turn, Yield, Interrupt, Fault };

    Act act = Act::Turn;
    FaultKind fault = FaultKind::ShortTransfer;
    unsigned thread = 0;
    std::uint64_t point = 0;  // number of the thread's point, or of its chance of this fault
    unsigned to = 0;          // of a Turn: the thread that runs next

    friend auto operator<=>(const Choice&, const Choice&) = default;
};

struct Schedule {
    std::vector<Choice> choices;

    // "1.17-2,y1.20,d2.3": a turn of thread 1 at its point 17 to thread 2, a yield, a delay. "none"
    // without any. A word for a command line: nothing in it is special to a shell.
    std::string text() const;
    static Result<Schedule> parse(std::string_view text);
};

// The choices of a schedule by their place.
class ScheduleIndex {
public:
    explicit ScheduleIndex(const Schedule& schedule);
    const Choice* find(Choice::Act act, FaultKind fault, unsigned thread,
                       std::uint64_t point) const;

private:
    static std::uint64_t key(Choice::Act act, FaultKind fault, unsigned thread,
                             std::uint64_t point);
    std::unordered_map<std::uint64_t, Choice> choices_;
};

const char* to_string(FaultKind fault);

}  // namespace weft::sim
