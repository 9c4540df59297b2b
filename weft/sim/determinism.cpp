#include "weft/sim/determinism.h"

#include <algorithm>

#include "weft/base/format.h"

namespace weft::sim {

std::optional<Divergence> find_divergence(Options options, const std::function<void()>& scenario) {
    options.keep_trace = true;
    Report one = run(options, scenario);
    Report two = run(options, scenario);
    one.trace.push_back(one.ok() ? "end" : "failed: " + one.failure);
    two.trace.push_back(two.ok() ? "end" : "failed: " + two.failure);
    auto [first, second] = std::ranges::mismatch(one.trace, two.trace);
    if (first == one.trace.end() && second == two.trace.end()) return std::nullopt;
    Divergence divergence;
    divergence.event = static_cast<std::size_t>(first - one.trace.begin()) + 1;
    if (first != one.trace.end()) divergence.first = *first;
    if (second != two.trace.end()) divergence.second = *second;
    if (first != one.trace.begin()) divergence.before = *std::prev(first);
    return divergence;
}

std::string Divergence::text() const {
    std::string text = format("the run is not the same again: event {} differs\n", event);
    if (!before.empty()) text += format("  before:  {}\n", before);
    return text + format("  first:   {}\n  second:  {}\n", first.empty() ? "(none)" : first,
                         second.empty() ? "(none)" : second);
}

}  // namespace weft::sim
