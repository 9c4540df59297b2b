// Planted bugs: each is switched on in a child process, and the simulation has to see it.
#include "weft/base/planted.h"

#ifdef WEFT_CHECKED

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "weft/sim/scenario.h"

namespace weft::sim {
namespace {

constexpr std::uint64_t kSeedsMax = 100'000;
constexpr unsigned kSeedSecondsMax = 10;  // corrupted memory can make a seed run for ever

// The seed that a child is at, seen by its parent even if the child dies.
class SharedSeed {
public:
    SharedSeed()
        : seed_(static_cast<volatile std::uint64_t*>(mmap(nullptr, sizeof(std::uint64_t),
                                                          PROT_READ | PROT_WRITE,
                                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        *seed_ = 0;
    }
    ~SharedSeed() { munmap(const_cast<std::uint64_t*>(seed_), sizeof(std::uint64_t)); }
    SharedSeed(const SharedSeed&) = delete;
    SharedSeed& operator=(const SharedSeed&) = delete;

    void set(std::uint64_t seed) { *seed_ = seed; }
    std::uint64_t get() const { return *seed_; }

private:
    volatile std::uint64_t* seed_;
};

// As weft-sim: the seeds are dealt out over the scenarios.
const Scenario& scenario_of(std::uint64_t seed) {
    return all_scenarios()[(seed - 1) % all_scenarios().size()];
}

[[noreturn]] void run_child(const char* bug, std::uint64_t seeds, SharedSeed& at) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    planted::enable(bug);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        at.set(seed);
        alarm(kSeedSecondsMax);
        Options options;
        options.seed = seed;
        options.faults = Faults::all();
        if (!run(scenario_of(seed), options).ok()) _exit(1);
    }
    _exit(0);
}

// How a child ended that ran so many seeds with this bug.
int status_of_child(const char* bug, std::uint64_t seeds, SharedSeed& at) {
    pid_t child = fork();
    if (child == 0) run_child(bug, seeds, at);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

class Planted : public testing::TestWithParam<const char*> {};

// Else what follows would prove nothing.
TEST(PlantedControl, SIM_1_nothing_is_found_without_a_bug) {
    SharedSeed at;
    EXPECT_EQ(status_of_child("no.bug", 10'000, at), 0) << "seed " << at.get();
}

TEST_P(Planted, SIM_1_is_found_within_100000_seeds) {
    SharedSeed at;
    int status = status_of_child(GetParam(), kSeedsMax, at);
    bool died = WIFSIGNALED(status);
    bool found = died || (WIFEXITED(status) && WEXITSTATUS(status) == 1);
    ASSERT_TRUE(found) << GetParam() << " was not found in " << kSeedsMax << " seeds";
    std::printf("%-36s found by seed %6llu, %s%s%s\n", GetParam(),
                static_cast<unsigned long long>(at.get()),
                std::string(scenario_of(at.get()).name).c_str(), died ? ": " : "",
                died ? strsignal(WTERMSIG(status)) : "");
}

std::string test_name(const testing::TestParamInfo<const char*>& bug) {
    std::string name = bug.param;
    for (char& letter : name) {
        if (letter == '.') letter = '_';
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(
    All, Planted,
    testing::Values(
        "fiber.unpark_before_park", "worker.forget_next", "worker.sleep_without_look",
        "worker.runs_the_unsaved", "scheduler.inject_without_wake", "run_queue.gives_twice",
        "inbox.newest_first", "join.does_not_await_the_end", "join.takes_back_blindly",
        "timer.fires_early", "timer.ignores_cancel", "timer.wakes_twice",
        "cancel.misses_the_newborn", "cancel.wakes_one", "cancel.listener_not_awaited",
        "waiter.does_not_look_at_the_token", "io.clear_always", "io.stale_event",
        "io.close_wakes_nobody", "blocking.leaves_the_call_running", "wait_queue.wakes_the_ended",
        "channel.drops_the_waiting_item", "channel.close_hides_success", "channel.leaves_its_entry",
        "channel.close_wakes_one", "select.drops_second_case", "select.leaves_its_entries",
        "select.locks_unordered", "mutex.forgets_next_waiter", "mutex.unlocks_blindly",
        "condition.unlocks_first", "semaphore.leaves_silently", "semaphore.charges_the_ended",
        "shared_mutex.leaves_silently", "barrier.keeps_the_arrival", "once.fails_silently",
        "event.sets_silently", "gate.lets_in_late", "contest.decides_twice",
        "contest.leaves_the_losers", "context.sees_only_itself", "first_error.collects_one_more",
        "first_error.keeps_the_last", "group.spares_the_siblings", "job_count.adds_late",
        "job_count.keeps_the_end_to_itself", "job_count.waits_without_look",
        "pending.gives_up_blindly", "periodic.runs_after_stop", "periodic.stop_hides_the_error",
        "pool.charges_the_ended", "pool.closes_silently", "pool.leaves_a_job_behind",
        "pool.lets_in_late", "pool.starts_one_too_many", "scope.cleans_up_oldest_first",
        "scope.cleans_up_too_early", "scope.lets_in_late", "shared_task.gives_up_for_all",
        "supervisor.starts_after_the_end", "ticker.drifts", "timeout.claims_the_parents_deadline",
        "timeout.leaves_the_job_to_nobody", "io.one_for_all"),
    test_name);

#ifdef WEFT_NET
INSTANTIATE_TEST_SUITE_P(Sockets, Planted,
                         testing::Values("socket.believes_the_event", "socket.forgets_the_rest",
                                         "listener.stops_at_the_aborted"),
                         test_name);
#endif

}  // namespace
}  // namespace weft::sim

#endif
