#include "weft/sim/tool.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "weft/base/format.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/sim/campaign.h"
#include "weft/sim/determinism.h"
#include "weft/sim/internal/crash.h"
#include "weft/sim/internal/schedule.h"
#include "weft/sim/shorten.h"

namespace weft::sim {
namespace {

constexpr const char* kHelp =
    "{0}: runs simulated scenarios; every seed is one reproducible run\n"
    "\n"
    "  {0} [--scenario NAME]... [--seeds N] [--first-seed X]\n"
    "                  run many seeds\n"
    "  {0} --scenario NAME --seed X [--trace]\n"
    "                  replay one seed\n"
    "  {0} --list\n"
    "                  name the scenarios\n"
    "\n"
    "  --chooser random|priorities|round-robin|starve-one   instead of one by seed\n"
    "  --no-faults     no injected faults\n"
    "  --every-step    run each seed again with an interruption at each of its steps\n"
    "                  (scenarios named *-anywhere)\n"
    "  --interrupt-at N   at this step only\n"
    "  --schedule S    with --seed: the choices of a shortened run, as its failure printed them\n"
    "  --no-shorten    show a failed run as it was\n"
    "  --check-determinism   run each seed twice and show the first event that differs\n"
    "  --corpus FILE   first run the seeds in this file, one \"SCENARIO SEED\" a line; a seed "
    "that\n"
    "                  fails is added to it\n"
    "  --shard I/N     only the I-th of N equal parts of the seeds\n"
    "  --bug NAME      switch a planted bug on (WEFT_CHECKED builds)\n"
    "\n"
    "Exit status: 0 all seeds passed, 1 a seed failed, 2 wrong usage, 3 all seeds passed, but\n"
    "something that sim::sometimes() asks for was never true. A shard names that and exits with "
    "0:\n"
    "it may have been true in another one.\n";

struct Arguments {
    std::string_view program;
    std::vector<const Scenario*> scenarios;
    std::uint64_t seeds = 1000;
    std::uint64_t first_seed = 1;
    bool help = false;
    bool list = false;
    bool replay = false;
    bool trace = false;
    bool faults = true;
    bool every_step = false;
    bool shorten = true;
    bool check_determinism = false;
    std::uint64_t shard = 1;
    std::uint64_t shards = 1;
    std::string schedule;
    std::string corpus;
    std::uint64_t interrupt_at = 0;
    Chooser chooser = Chooser::BySeed;
};

template <class... Values>
void print_to(std::FILE* file, fmt::format_string<Values...> text, Values&&... values) {
    std::string line = format(text, std::forward<Values>(values)...);
    std::fwrite(line.data(), 1, line.size(), file);
}

Result<std::uint64_t> number(std::string_view option, std::string_view text) {
    std::uint64_t value = 0;
    int base = text.starts_with("0x") ? 16 : 10;
    std::string_view digits = base == 16 ? text.substr(2) : text;
    const char* end = digits.data() + digits.size();
    auto [stop, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc() || stop != end || digits.empty())
        return Error(ErrorKind::Misuse, format("{} wants a number, not '{}'", option, text));
    return value;
}

Result<Chooser> chooser_named(std::string_view name) {
    if (name == "random") return Chooser::Random;
    if (name == "priorities") return Chooser::Priorities;
    if (name == "round-robin") return Chooser::RoundRobin;
    if (name == "starve-one") return Chooser::StarveOne;
    return Error(ErrorKind::Misuse, format("there is no chooser '{}'", name));
}

// Sets an option that has no value; false if it is not one of those.
bool set_flag(std::string_view option, Arguments& arguments) {
    if (option == "--help" || option == "-h") return arguments.help = true;
    if (option == "--list") return arguments.list = true;
    if (option == "--trace") return arguments.trace = true;
    if (option == "--no-faults") return !(arguments.faults = false);
    if (option == "--every-step") return arguments.every_step = true;
    if (option == "--no-shorten") return !(arguments.shorten = false);
    if (option == "--check-determinism") return arguments.check_determinism = true;
    return false;
}

Result<void> set_shard(std::string_view value, Arguments& arguments) {
    std::size_t slash = value.find('/');
    if (slash == std::string_view::npos)
        return Error(ErrorKind::Misuse, format("--shard wants I/N, not '{}'", value));
    arguments.shard = WEFT_TRY(number("--shard", value.substr(0, slash)));
    arguments.shards = WEFT_TRY(number("--shard", value.substr(slash + 1)));
    if (arguments.shard == 0 || arguments.shard > arguments.shards)
        return Error(ErrorKind::Misuse, format("there is no shard {}", value));
    return {};
}

Result<void> set_value(std::string_view option, std::string_view value,
                       std::span<const Scenario> scenarios, Arguments& arguments) {
    if (option == "--scenario") {
        auto found = std::ranges::find(scenarios, value, &Scenario::name);
        if (found == scenarios.end())
            return Error(ErrorKind::Misuse, format("there is no scenario '{}'; see --list", value));
        arguments.scenarios.push_back(&*found);
    } else if (option == "--seeds") {
        arguments.seeds = WEFT_TRY(number(option, value));
    } else if (option == "--first-seed") {
        arguments.first_seed = WEFT_TRY(number(option, value));
    } else if (option == "--seed") {
        arguments.first_seed = WEFT_TRY(number(option, value));
        arguments.seeds = 1;
        arguments.replay = true;
    } else if (option == "--interrupt-at") {
        arguments.interrupt_at = WEFT_TRY(number(option, value));
    } else if (option == "--chooser") {
        arguments.chooser = WEFT_TRY(chooser_named(value));
    } else if (option == "--schedule") {
        WEFT_TRY(Schedule::parse(value));
        arguments.schedule = value;
    } else if (option == "--corpus") {
        arguments.corpus = value;
    } else if (option == "--shard") {
        WEFT_TRY(set_shard(value, arguments));
    } else if (option == "--bug") {
#ifdef WEFT_CHECKED
        planted::enable(value);
#else
        return Error(ErrorKind::Misuse, "--bug needs a build with -DWEFT_CHECKED=ON");
#endif
    }
    return {};
}

bool wants_value(std::string_view option) {
    constexpr std::array kOptions = {"--scenario", "--seeds",  "--first-seed", "--seed",
                                     "--schedule", "--corpus", "--shard",      "--interrupt-at",
                                     "--chooser",  "--bug"};
    return std::ranges::find(kOptions, option) != kOptions.end();
}

Result<Arguments> parse(std::span<const Scenario> scenarios, std::span<char* const> words) {
    Arguments arguments;
    for (std::size_t i = 1; i < words.size(); ++i) {
        std::string_view option = words[i];
        if (set_flag(option, arguments)) continue;
        if (!wants_value(option))
            return Error(ErrorKind::Misuse, format("unknown option '{}'", option));
        if (++i == words.size())
            return Error(ErrorKind::Misuse, format("{} wants a value", option));
        WEFT_TRY(set_value(option, words[i], scenarios, arguments));
    }
    if (arguments.scenarios.empty()) {
        for (const Scenario& scenario : scenarios) arguments.scenarios.push_back(&scenario);
    }
    return arguments;
}

struct Totals {
    std::uint64_t steps = 0;
    std::uint64_t runs = 0;
    Coverage coverage;
};

Options options_for(const Arguments& arguments, std::uint64_t seed) {
    Options options;
    options.seed = seed;
    options.chooser = arguments.chooser;
    options.keep_trace = arguments.trace;
    options.interrupt_at = arguments.interrupt_at;
    options.faults = arguments.faults ? Faults::all() : Faults::none();
    options.schedule = arguments.schedule;
    return options;
}

constexpr std::array kChoosers = {"", "random", "priorities", "round-robin", "starve-one"};

std::string replay_of(const Arguments& arguments, const Scenario& scenario,
                      const Options& options) {
    std::string text = format("replay: {} --scenario {} --seed {}", arguments.program,
                              scenario.name, options.seed);
    if (options.interrupt_at != 0) text += format(" --interrupt-at {}", options.interrupt_at);
    if (!arguments.faults) text += " --no-faults";
    if (arguments.chooser != Chooser::BySeed)
        text += format(" --chooser {}", kChoosers[static_cast<std::size_t>(arguments.chooser)]);
    if (!options.schedule.empty()) text += format(" --schedule {}", options.schedule);
    return text;
}

void show_failure(const Arguments& arguments, const Scenario& scenario, Options options,
                  const Report& failed) {
    print_to(stdout, "{} FAILED: ", scenario.name);
    if (!arguments.shorten) {
        print_to(stdout, "{}{}\n", failed.text(), replay_of(arguments, scenario, options));
        return;
    }
    options.faults = options.faults & scenario.faults;
    // A schedule that the user gave is not shortened.
    ShortenLimits limits;
    if (!arguments.schedule.empty()) limits.runs = 0;
    Shortened shortened = shorten(options, failed.failure, scenario.body, limits);
    if (arguments.trace) print_to(stdout, "{}", failed.text());
    print_to(stdout, "{}", describe_failure(shortened));
    if (shortened.repeatable) options.schedule = shortened.report.schedule;
    print_to(stdout, "{}\n", replay_of(arguments, scenario, options));
}

void add_to_corpus(const Arguments& arguments, const Scenario& scenario, const Report& report) {
    if (arguments.corpus.empty()) return;
    std::FILE* file = std::fopen(arguments.corpus.c_str(), "a");
    if (!file) {
        print_to(stderr, "{}: cannot write {}\n", arguments.program, arguments.corpus);
        return;
    }
    std::string why = report.failure.substr(0, report.failure.find('\n'));
    print_to(file, "{} {}  # {}\n", scenario.name, report.seed, why);
    std::fclose(file);
}

enum class Known : bool { No, Yes };  // whether the seed is in the corpus already

bool is_deterministic(const Scenario& scenario, Options options) {
    options.faults = options.faults & scenario.faults;
    std::optional<Divergence> divergence = find_divergence(options, scenario.body);
    if (!divergence) return true;
    print_to(stdout, "{} NOT DETERMINISTIC: seed {}: {}", scenario.name, options.seed,
             divergence->text());
    return false;
}

bool run_seed(const Arguments& arguments, const Scenario& scenario, std::uint64_t seed,
              Totals& totals, Known known) {
    Options options = options_for(arguments, seed);
    std::string line = replay_of(arguments, scenario, options);
    CrashReplay replay(line + (arguments.every_step ? " --every-step" : ""));
    if (arguments.check_determinism && !is_deterministic(scenario, options)) return false;
    Report report;
    if (arguments.every_step) {
        EveryStep all = run_every_step(scenario, options);
        totals.runs += all.runs;
        totals.steps += all.steps;
        options.interrupt_at = all.interrupt_at;
        report = std::move(all.report);
    } else {
        report = run(scenario, options);
        ++totals.runs;
        totals.steps += report.steps;
    }
    add_coverage(totals.coverage, report);
    if (!report.ok()) {
        if (known == Known::No) add_to_corpus(arguments, scenario, report);
        show_failure(arguments, scenario, options, report);
        return false;
    }
    if (!arguments.replay) return true;
    if (arguments.trace) print_to(stdout, "{}", report.text());
    print_to(stdout, "{} seed {}: ok, {} steps, trace {:016x}\n", scenario.name, seed, report.steps,
             report.trace_hash);
    return true;
}

// Runs the seeds of the corpus, which failed once. Lines of scenarios that are not selected are
// skipped.
bool run_corpus(const Arguments& arguments, Totals& totals) {
    std::ifstream file(arguments.corpus);
    bool all_passed = true;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        std::uint64_t seed = 0;
        if (!(words >> name >> seed)) continue;
        auto same = [&name](const Scenario* scenario) { return scenario->name == name; };
        auto found = std::ranges::find_if(arguments.scenarios, same);
        if (found == arguments.scenarios.end()) continue;
        all_passed = run_seed(arguments, **found, seed, totals, Known::Yes) && all_passed;
    }
    return all_passed;
}

// Whether the run with this number belongs to this shard. Each shard gets its part of each
// scenario, also where the numbers of shards and of scenarios have a common divisor.
bool is_in_shard(const Arguments& arguments, std::uint64_t number) {
    std::uint64_t scenarios = arguments.scenarios.size();
    std::uint64_t round = number / scenarios;
    return (round + number % scenarios) % arguments.shards == arguments.shard - 1;
}

// The exit status of a campaign that has passed.
int judge(const Arguments& arguments, const Totals& totals) {
    std::string missing = never_true(totals.coverage, totals.runs);
    print_to(stdout, "{}", missing);
    return missing.empty() || arguments.shards > 1 ? 0 : 3;
}

int run_all(const Arguments& arguments) {
    auto begun = std::chrono::steady_clock::now();  // tidy: allow clock: real time of a real tool
    Totals totals;
    if (!arguments.corpus.empty() && !arguments.replay && !run_corpus(arguments, totals)) return 1;
    // The scenarios take the seeds in turn, so that N seeds are N runs.
    for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
        if (!is_in_shard(arguments, i)) continue;
        const Scenario& scenario = *arguments.scenarios[i % arguments.scenarios.size()];
        std::uint64_t seed = arguments.first_seed + i;
        if (!run_seed(arguments, scenario, seed, totals, Known::No)) return 1;
    }
    std::chrono::duration<double> lasted =
        std::chrono::steady_clock::now() - begun;  // tidy: allow clock: as above
    if (!arguments.replay) {
        print_to(stdout, "{} runs of {} scenarios passed: {} steps in {:.1f} s, {:.2f} M steps/s\n",
                 totals.runs, arguments.scenarios.size(), totals.steps, lasted.count(),
                 static_cast<double>(totals.steps) / 1e6 / lasted.count());
        return judge(arguments, totals);
    }
    return 0;
}

}  // namespace

int run_tool(std::string_view program, std::span<const Scenario> scenarios,
             std::span<char* const> words) {
    Result<Arguments> arguments = parse(scenarios, words);
    if (!arguments) {
        print_to(stderr, "{0}: {1}\nTry {0} --help.\n", program, arguments.error().message());
        return 2;
    }
    arguments->program = program;
    if (arguments->help) {
        print_to(stdout, kHelp, program);
        return 0;
    }
    if (arguments->list) {
        for (const Scenario& scenario : scenarios)
            print_to(stdout, "{:<24} {}\n", scenario.name, scenario.about);
        return 0;
    }
    return run_all(*arguments);
}

}  // namespace weft::sim
