#include "weft/sim/campaign.h"

#include <cstdlib>
#include <optional>

#include "weft/base/format.h"
#include "weft/sim/internal/crash.h"
#include "weft/sim/shorten.h"

namespace weft::sim {
namespace {

constexpr std::size_t kStoryLinesMax = 120;

std::optional<std::uint64_t> number_in(const char* variable) {
    const char* text = std::getenv(variable);
    if (!text || *text == '\0') return std::nullopt;
    return std::strtoull(text, nullptr, 0);
}

Options options_of(const Campaign& campaign, std::uint64_t seed) {
    Options options;
    options.seed = seed;
    options.chooser = campaign.chooser;
    options.faults = campaign.faults;
    options.steps_max = campaign.steps_max;
    return options;
}

}  // namespace

std::string describe_failure(const Shortened& shortened) {
    const Report& report = shortened.report;
    if (!shortened.repeatable) {
        return format(
            "seed {} failed once, and not again: the scenario is not deterministic (see "
            "--check-determinism)\n",
            report.seed);
    }
    std::string text = format("seed {}: {}\n", report.seed, report.failure);
    if (!report.where.empty()) text += format("  at {}\n", report.where);
    if (shortened.choices_before != 0)
        text += format("shortened from {} choices to {} in {} runs; {} steps\n",
                       shortened.choices_before, shortened.choices, shortened.runs, report.steps);
    std::size_t count = report.story.size();
    std::size_t begin = count > kStoryLinesMax ? count - kStoryLinesMax : 0;
    if (begin != 0) text += format("  ... {} operations before\n", begin);
    for (std::size_t i = begin; i < count; ++i) text += report.story[i] + '\n';
    return text;
}

void add_coverage(Coverage& coverage, const Report& report) {
    for (const auto& [name, reached] : report.sometimes) coverage[name] += reached ? 1 : 0;
}

std::string never_true(const Coverage& coverage, std::uint64_t runs) {
    std::string text;
    for (const auto& [name, count] : coverage) {
        if (count == 0) text += format("never true in {} runs: {}\n", runs, name);
    }
    return text;
}

CampaignOutcome run_campaign(Campaign campaign, const std::function<void()>& scenario) {
    std::optional<std::uint64_t> alone = number_in("WEFT_SIM_SEED");
    if (alone) campaign.first_seed = *alone;
    campaign.seeds = alone ? 1 : number_in("WEFT_SIM_SEEDS").value_or(campaign.seeds);
    CampaignOutcome outcome;
    for (std::uint64_t i = 0; i < campaign.seeds; ++i) {
        Options options = options_of(campaign, campaign.first_seed + i);
        std::string repeat = format("repeat: WEFT_SIM_SEED={}", options.seed);
        CrashReplay replay(format("{} {}", campaign.name, repeat));
        Report report = run(options, scenario);
        ++outcome.runs;
        outcome.steps += report.steps;
        add_coverage(outcome.coverage, report);
        if (report.ok()) continue;
        Shortened shortened = shorten(options, report.failure, scenario);
        outcome.failed = shortened.report;
        outcome.text = format("{} {}{}\n", campaign.name, describe_failure(shortened), repeat);
        return outcome;
    }
    if (!alone) outcome.text = never_true(outcome.coverage, outcome.runs);
    return outcome;
}

}  // namespace weft::sim
