// weft-sim: runs scenarios over many seeds, and replays one.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "weft/base/format.h"
#include "weft/base/planted.h"
#include "weft/sim/scenario.h"

namespace {

using weft::sim::Chooser;
using weft::sim::Options;
using weft::sim::Report;
using weft::sim::Scenario;

constexpr const char* kHelp =
    "weft-sim: runs simulated scenarios; every seed is one reproducible run\n"
    "\n"
    "  weft-sim [--scenario NAME]... [--seeds N] [--first-seed X]   run many seeds\n"
    "  weft-sim --scenario NAME --seed X [--trace]                  replay one seed\n"
    "  weft-sim --list                                              name the scenarios\n"
    "\n"
    "  --chooser random|priorities|round-robin|starve-one   instead of one by seed\n"
    "  --no-faults     no injected faults\n"
    "  --every-step    run each seed again with an interruption at each of its steps\n"
    "                  (scenarios named *-anywhere)\n"
    "  --interrupt-at N   at this step only\n"
    "  --bug NAME      switch a planted bug on (WEFT_CHECKED builds)\n"
    "\n"
    "Exit status: 0 all seeds passed, 1 a seed failed, 2 wrong usage.\n";

struct Arguments {
    std::vector<const Scenario*> scenarios;
    std::uint64_t seeds = 1000;
    std::uint64_t first_seed = 1;
    bool replay = false;
    bool trace = false;
    bool faults = true;
    bool every_step = false;
    std::uint64_t interrupt_at = 0;
    Chooser chooser = Chooser::BySeed;
};

template <class... Values>
void print_to(std::FILE* file, fmt::format_string<Values...> text, Values&&... values) {
    std::string line = weft::format(text, std::forward<Values>(values)...);
    std::fwrite(line.data(), 1, line.size(), file);
}

[[noreturn]] void usage(const std::string& error) {
    print_to(stderr, "weft-sim: {}\nTry weft-sim --help.\n", error);
    std::exit(2);
}

std::uint64_t number(const std::string& option, const char* text) {
    std::uint64_t value = 0;
    int base = std::strncmp(text, "0x", 2) == 0 ? 16 : 10;
    const char* begin = base == 16 ? text + 2 : text;
    const char* end = text + std::strlen(text);
    auto [stop, error] = std::from_chars(begin, end, value, base);
    if (error != std::errc() || stop != end || begin == end)
        usage(weft::format("{} wants a number, not '{}'", option, text));
    return value;
}

Chooser chooser_named(const std::string& name) {
    if (name == "random") return Chooser::Random;
    if (name == "priorities") return Chooser::Priorities;
    if (name == "round-robin") return Chooser::RoundRobin;
    if (name == "starve-one") return Chooser::StarveOne;
    usage(weft::format("there is no chooser '{}'", name));
}

void list() {
    for (const Scenario& scenario : weft::sim::all_scenarios())
        print_to(stdout, "{:<24} {}\n", scenario.name, scenario.about);
}

Arguments parse(int count, char** words) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        std::string option = words[i];
        auto value = [&] {
            if (++i == count) usage(option + " wants a value");
            return words[i];
        };
        if (option == "--help" || option == "-h") {
            print_to(stdout, "{}", kHelp);
            std::exit(0);
        } else if (option == "--list") {
            list();
            std::exit(0);
        } else if (option == "--scenario") {
            const Scenario* scenario = weft::sim::find_scenario(value());
            if (!scenario) usage(weft::format("there is no scenario '{}'; see --list", words[i]));
            arguments.scenarios.push_back(scenario);
        } else if (option == "--seeds") {
            arguments.seeds = number(option, value());
        } else if (option == "--first-seed") {
            arguments.first_seed = number(option, value());
        } else if (option == "--seed") {
            arguments.first_seed = number(option, value());
            arguments.seeds = 1;
            arguments.replay = true;
        } else if (option == "--trace") {
            arguments.trace = true;
        } else if (option == "--no-faults") {
            arguments.faults = false;
        } else if (option == "--every-step") {
            arguments.every_step = true;
        } else if (option == "--interrupt-at") {
            arguments.interrupt_at = number(option, value());
        } else if (option == "--chooser") {
            arguments.chooser = chooser_named(value());
        } else if (option == "--bug") {
#ifdef WEFT_CHECKED
            weft::planted::enable(value());
#else
            usage("--bug needs a build with -DWEFT_CHECKED=ON");
#endif
        } else {
            usage(weft::format("unknown option '{}'", option));
        }
    }
    if (arguments.scenarios.empty()) {
        for (const Scenario& scenario : weft::sim::all_scenarios())
            arguments.scenarios.push_back(&scenario);
    }
    return arguments;
}

struct Totals {
    std::uint64_t steps = 0;
    std::uint64_t runs = 0;
};

Options options_for(const Arguments& arguments, std::uint64_t seed) {
    Options options;
    options.seed = seed;
    options.chooser = arguments.chooser;
    options.keep_trace = arguments.trace;
    options.interrupt_at = arguments.interrupt_at;
    options.faults = arguments.faults ? weft::sim::Faults::all() : weft::sim::Faults::none();
    return options;
}

void show_failure(const Scenario& scenario, const Report& report, std::uint64_t interrupt_at) {
    print_to(stdout, "{} FAILED: {}", scenario.name, report.text());
    print_to(stdout, "replay: weft-sim --scenario {} --seed {}", scenario.name, report.seed);
    if (interrupt_at != 0) print_to(stdout, " --interrupt-at {}", interrupt_at);
    print_to(stdout, " --trace\n");
}

bool run_seed(const Arguments& arguments, const Scenario& scenario, std::uint64_t seed,
              Totals& totals) {
    Options options = options_for(arguments, seed);
    std::uint64_t interrupt_at = options.interrupt_at;
    Report report;
    if (arguments.every_step) {
        weft::sim::EveryStep all = weft::sim::run_every_step(scenario, options);
        totals.runs += all.runs;
        totals.steps += all.steps;
        interrupt_at = all.interrupt_at;
        report = std::move(all.report);
    } else {
        report = weft::sim::run(scenario, options);
        ++totals.runs;
        totals.steps += report.steps;
    }
    if (!report.ok()) {
        show_failure(scenario, report, interrupt_at);
        return false;
    }
    if (!arguments.replay) return true;
    if (arguments.trace) print_to(stdout, "{}", report.text());
    print_to(stdout, "{} seed {}: ok, {} steps, trace {:016x}\n", scenario.name, seed, report.steps,
             report.trace_hash);
    return true;
}

}  // namespace

int main(int count, char** words) {
    Arguments arguments = parse(count, words);
    auto begun = std::chrono::steady_clock::now();  // tidy: allow clock: real time of a real tool
    Totals totals;
    // Seeds are dealt out over the scenarios, so that N seeds are N runs.
    for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
        const Scenario& scenario = *arguments.scenarios[i % arguments.scenarios.size()];
        if (!run_seed(arguments, scenario, arguments.first_seed + i, totals)) return 1;
    }
    std::chrono::duration<double> lasted =
        std::chrono::steady_clock::now() - begun;  // tidy: allow clock: as above
    if (!arguments.replay) {
        print_to(stdout, "{} runs of {} scenarios passed: {} steps in {:.1f} s, {:.2f} M steps/s\n",
                 totals.runs, arguments.scenarios.size(), totals.steps, lasted.count(),
                 static_cast<double>(totals.steps) / 1e6 / lasted.count());
    }
    return 0;
}
