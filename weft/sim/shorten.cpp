#include "weft/sim/shorten.h"

#include <algorithm>
#include <string>
#include <vector>

#include "weft/base/assert.h"
#include "weft/sim/internal/schedule.h"

// Not null if the program has the leak sanitizer: what failed runs leave behind is no leak.
extern "C" {
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace weft::sim {
namespace {

using Choices = std::vector<Choice>;

class AbandonedMemory {
public:
    AbandonedMemory() {
        if (__lsan_disable) __lsan_disable();
    }
    ~AbandonedMemory() {
        if (__lsan_enable) __lsan_enable();
    }
    AbandonedMemory(const AbandonedMemory&) = delete;
    AbandonedMemory& operator=(const AbandonedMemory&) = delete;
};

class Shortener {
public:
    Shortener(const Options& failing, const std::string& failure,
              const std::function<void()>& scenario, const ShortenLimits& limits)
        : options_(failing), failure_(failure), scenario_(scenario), limits_(limits) {}

    Shortened work() {
        Options options = options_;
        if (limits_.runs == 0) return outcome(show(options), true);
        options.record = true;
        Report report = run_with(options);
        if (!fails(report)) return outcome(std::move(report), false);
        // A run that was given by its schedule has made no other choices.
        if (options_.schedule.empty()) options.schedule = report.schedule;
        Schedule recorded = Schedule::parse(options.schedule).value();
        before_ = recorded.choices.size();
        kept_ = recorded.choices;
        if (!still_fails(kept_)) {
            options.schedule = options_.schedule;
            return outcome(show(options), true);
        }
        // Some choices can be left out only when others, of any kind, are gone.
        for (std::size_t before = kept_.size() + 1; kept_.size() < before && !is_exhausted();) {
            before = kept_.size();
            leave_out(Choice::Act::Fault);
            leave_out(Choice::Act::Turn);
            leave_out(Choice::Act::Yield);
        }
        options.schedule = Schedule{kept_}.text();
        return outcome(show(options), true);
    }

private:
    bool fails(const Report& report) const { return is_same_failure(report.failure, failure_); }
    bool is_exhausted() const { return runs_ >= limits_.runs || steps_ >= limits_.steps; }

    Report run_with(const Options& options) {
        AbandonedMemory abandoned;
        Report report = run(options, scenario_);
        ++runs_;
        steps_ += report.steps;
        return report;
    }
    Report show(Options options) {
        options.record = false;
        options.tell_story = true;
        Report report = run_with(options);
        report.schedule = options.schedule;
        return report;
    }
    bool still_fails(const Choices& choices) {
        if (is_exhausted()) return false;
        Options options = options_;
        options.schedule = Schedule{choices}.text();
        return fails(run_with(options));
    }

    // Leaves out chunks of the remaining choices of this kind, ever smaller ones, wherever the run
    // still fails in the same way without them.
    void leave_out(Choice::Act act) {
        auto is_of_act = [act](const Choice& choice) { return choice.act == act; };
        auto count = static_cast<std::size_t>(std::ranges::count_if(kept_, is_of_act));
        for (std::size_t chunk = count; chunk != 0 && !is_exhausted(); chunk /= 2) {
            for (std::size_t begin = 0; begin < count;) {
                Choices rest;
                std::size_t seen = 0;
                for (const Choice& choice : kept_) {
                    bool left_out = is_of_act(choice) && seen >= begin && seen < begin + chunk;
                    if (is_of_act(choice)) ++seen;
                    if (!left_out) rest.push_back(choice);
                }
                if (still_fails(rest)) {
                    kept_ = std::move(rest);
                    count = static_cast<std::size_t>(std::ranges::count_if(kept_, is_of_act));
                } else {
                    begin += chunk;
                }
            }
        }
    }

    Shortened outcome(Report report, bool repeatable) const {
        Shortened shortened{std::move(report), repeatable};
        shortened.runs = runs_;
        shortened.choices_before = before_;
        shortened.choices = kept_.size();
        return shortened;
    }

    const Options options_;
    const std::string failure_;
    const std::function<void()>& scenario_;
    const ShortenLimits limits_;
    Choices kept_;
    std::size_t before_ = 0;
    unsigned runs_ = 0;
    std::uint64_t steps_ = 0;
};

std::string signature_of(const std::string& failure) {
    std::string signature;
    for (char letter : failure) {
        if (letter == '\n') break;
        if (letter < '0' || letter > '9') signature += letter;
    }
    return signature;
}

}  // namespace

bool is_same_failure(const std::string& one, const std::string& other) {
    return one.empty() == other.empty() && signature_of(one) == signature_of(other);
}

Shortened shorten(const Options& failing, const std::string& failure,
                  const std::function<void()>& scenario, const ShortenLimits& limits) {
    WEFT_ASSERT(!failure.empty(), "only a failure can be shortened");
    return Shortener(failing, failure, scenario, limits).work();
}

}  // namespace weft::sim
