#include "weft/sim/internal/schedule.h"

#include <charconv>

#include "weft/base/format.h"

namespace weft::sim {
namespace {

// In the order of FaultKind.
constexpr std::string_view kLetters = "swrdpaxcfb";
constexpr std::size_t kChoicesMax = 1'000'000;

Error malformed(std::string_view word) {
    return Error(ErrorKind::Misuse, format("a schedule has no choice '{}'", word));
}

bool take_number(std::string_view& rest, std::uint64_t& number) {
    auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc()) return false;
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    return true;
}

bool take(std::string_view& rest, char letter) {
    if (!rest.starts_with(letter)) return false;
    rest.remove_prefix(1);
    return true;
}

Result<Choice> parse_choice(std::string_view word) {
    Choice choice;
    std::string_view rest = word;
    if (take(rest, 'y')) {
        choice.act = Choice::Act::Yield;
    } else if (take(rest, 'i')) {
        choice.act = Choice::Act::Interrupt;
    } else if (std::size_t kind = kLetters.find(rest.empty() ? '-' : rest.front());
               kind != std::string_view::npos) {
        choice.act = Choice::Act::Fault;
        choice.fault = static_cast<FaultKind>(kind);
        rest.remove_prefix(1);
    }
    std::uint64_t thread = 0;
    std::uint64_t to = 0;
    if (!take_number(rest, thread) || !take(rest, '.') || !take_number(rest, choice.point))
        return malformed(word);
    if (choice.act == Choice::Act::Turn && (!take(rest, '-') || !take_number(rest, to)))
        return malformed(word);
    if (!rest.empty()) return malformed(word);
    choice.thread = static_cast<unsigned>(thread);
    choice.to = static_cast<unsigned>(to);
    return choice;
}

}  // namespace

std::string Schedule::text() const {
    std::string text;
    for (const Choice& choice : choices) {
        if (!text.empty()) text += ',';
        if (choice.act == Choice::Act::Yield) text += 'y';
        if (choice.act == Choice::Act::Interrupt) text += 'i';
        if (choice.act == Choice::Act::Fault)
            text += kLetters[static_cast<std::size_t>(choice.fault)];
        text += format("{}.{}", choice.thread, choice.point);
        if (choice.act == Choice::Act::Turn) text += format("-{}", choice.to);
    }
    return text.empty() ? "none" : text;
}

Result<Schedule> Schedule::parse(std::string_view text) {
    Schedule schedule;
    if (text == "none") return schedule;
    for (;;) {
        std::size_t comma = text.find(',');
        schedule.choices.push_back(WEFT_TRY(parse_choice(text.substr(0, comma))));
        if (schedule.choices.size() > kChoicesMax)
            return Error::limit("a schedule has more choices than", kChoicesMax, "kChoicesMax");
        if (comma == std::string_view::npos) return schedule;
        text.remove_prefix(comma + 1);
    }
}

std::uint64_t ScheduleIndex::key(Choice::Act act, FaultKind fault, unsigned thread,
                                 std::uint64_t point) {
    auto kind = static_cast<std::uint64_t>(act) << 4 | static_cast<std::uint64_t>(fault);
    return point << 24 | static_cast<std::uint64_t>(thread & 0x3ffff) << 6 | kind;
}

ScheduleIndex::ScheduleIndex(const Schedule& schedule) {
    for (const Choice& choice : schedule.choices)
        choices_.emplace(key(choice.act, choice.fault, choice.thread, choice.point), choice);
}

const Choice* ScheduleIndex::find(Choice::Act act, FaultKind fault, unsigned thread,
                                  std::uint64_t point) const {
    auto found = choices_.find(key(act, fault, thread, point));
    return found == choices_.end() ? nullptr : &found->second;
}

const char* to_string(FaultKind fault) {
    switch (fault) {
    case FaultKind::ShortTransfer: return "short transfer";
    case FaultKind::WouldBlock: return "would block";
    case FaultKind::SpuriousReadiness: return "spurious readiness";
    case FaultKind::Delay: return "delay";
    case FaultKind::Pause: return "pause";
    case FaultKind::Allocation: return "failed allocation";
    case FaultKind::Reset: return "reset";
    case FaultKind::Connect: return "failed connect";
    case FaultKind::Descriptor: return "no descriptors";
    case FaultKind::Buggify: return "buggify";
    }
    return "?";
}

}  // namespace weft::sim
