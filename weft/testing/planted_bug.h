// Runs scenarios with a planted bug (base/planted.h) switched on, in a child process.
//
// Without the bug the scenarios must find nothing, or finding it would prove nothing. POSIX; one
// thread.
#pragma once

#ifdef WEFT_CHECKED

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "weft/base/planted.h"
#include "weft/sim/scenario.h"

namespace weft::testing {

class PlantedBug {
public:
    // As in the tool, the scenarios take the seeds in turn.
    PlantedBug(std::span<const sim::Scenario> scenarios, const char* name)
        : scenarios_(scenarios),
          name_(name),
          seed_(static_cast<volatile std::uint64_t*>(mmap(nullptr, sizeof(std::uint64_t),
                                                          PROT_READ | PROT_WRITE,
                                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        *seed_ = 0;
    }
    ~PlantedBug() { munmap(const_cast<std::uint64_t*>(seed_), sizeof(std::uint64_t)); }
    PlantedBug(const PlantedBug&) = delete;
    PlantedBug& operator=(const PlantedBug&) = delete;

    // Whether one of so many seeds failed, or a signal ended the child.
    bool is_found_within(std::uint64_t seeds) {
        pid_t child = fork();
        if (child == 0) run_child(seeds);
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        died_of_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        return died_of_ != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 1);
    }

    std::uint64_t seed() const { return *seed_; }  // the last one that was run
    void print() const {
        std::printf("%-36s found by seed %6llu, %s%s%s\n", name_,
                    static_cast<unsigned long long>(seed()),
                    std::string(scenario_of(seed()).name).c_str(), died_of_ != 0 ? ": " : "",
                    died_of_ != 0 ? strsignal(died_of_) : "");
    }

private:
    static constexpr unsigned kSeedSecondsMax = 10;  // with corrupt memory a run may never end

    const sim::Scenario& scenario_of(std::uint64_t seed) const {
        return scenarios_[(seed - 1) % scenarios_.size()];
    }
    [[noreturn]] void run_child(std::uint64_t seeds) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        planted::enable(name_);
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            *seed_ = seed;  // the parent sees it even if this process dies
            alarm(kSeedSecondsMax);
            sim::Options options;
            options.seed = seed;
            options.faults = sim::Faults::all();
            if (!sim::run(scenario_of(seed), options).ok()) _exit(1);
        }
        _exit(0);
    }

    std::span<const sim::Scenario> scenarios_;
    const char* name_;
    volatile std::uint64_t* seed_;
    int died_of_ = 0;
};

// "area.name" as a part of a test's name.
inline std::string name_of_bug(std::string name) {
    for (char& letter : name) {
        if (letter == '.') letter = '_';
    }
    return name;
}

}  // namespace weft::testing

#endif
