// Planted bugs: each is switched on in a child process, and the simulation has to see it.
#include "weft/base/planted.h"

#ifdef WEFT_CHECKED

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/sim/floor/table.h"
#include "weft/testing/planted_bug.h"

namespace weft::sim {
namespace {

using testing::PlantedBug;

constexpr std::uint64_t kSeedsMax = 400'000;

std::string test_name(const ::testing::TestParamInfo<const char*>& bug) {
    return testing::name_of_bug(bug.param);
}

class Planted : public ::testing::TestWithParam<const char*> {};

// Else what follows would prove nothing.
TEST(PlantedControl, SIM_1_nothing_is_found_without_a_bug) {
    PlantedBug none(all_scenarios(), "no.bug");
    EXPECT_FALSE(none.is_found_within(10'000)) << "seed " << none.seed();
}

TEST_P(Planted, SIM_1_is_found_within_400000_seeds) {
    PlantedBug bug(all_scenarios(), GetParam());
    ASSERT_TRUE(bug.is_found_within(kSeedsMax)) << GetParam();
    bug.print();
}

INSTANTIATE_TEST_SUITE_P(
    All, Planted,
    ::testing::Values(
        "fiber.unpark_before_park", "worker.forget_next", "worker.sleep_without_look",
        "worker.runs_the_unsaved", "scheduler.inject_without_wake", "run_queue.gives_twice",
        "inbox.newest_first", "join.does_not_await_the_end", "join.takes_back_blindly",
        "timer.fires_early", "timer.ignores_cancel", "timer.wakes_twice",
        "cancel.misses_the_newborn", "cancel.wakes_one", "cancel.listener_not_awaited",
        "waiter.does_not_look_at_the_token", "io.clear_always", "io.stale_event",
        "io.close_wakes_nobody", "blocking.leaves_the_call_running", "wait_queue.wakes_the_ended",
        "channel.stores_past_receiver", "channel.drops_item_on_late_claim",
        "channel.drops_the_waiting_item", "channel.close_hides_success", "channel.leaves_its_entry",
        "channel.close_wakes_one", "select.drops_second_case", "select.leaves_its_entries",
        "select.locks_unordered", "mutex.forgets_next_waiter", "mutex.unlocks_blindly",
        "condition.unlocks_first", "semaphore.leaves_silently", "semaphore.charges_the_ended",
        "shared_mutex.leaves_silently", "barrier.keeps_the_arrival", "once.fails_silently",
        "event.sets_silently", "gate.lets_in_late", "race.decides_twice", "race.leaves_the_losers",
        "context.sees_only_itself", "first_error.collects_one_more", "first_error.keeps_the_last",
        "group.spares_the_siblings", "job_count.adds_late", "job_count.keeps_the_end_to_itself",
        "job_count.leaves_without_wait", "job_count.waits_without_look", "pending.gives_up_blindly",
        "periodic.runs_after_stop", "periodic.stop_hides_the_error", "pool.charges_the_ended",
        "pool.closes_silently", "pool.leaves_a_job_behind", "pool.lets_in_late",
        "pool.starts_one_too_many", "scope.cleans_up_oldest_first", "spawn.belongs_to_nobody",
        "scope.cleans_up_too_early", "scope.lets_in_late", "shared_task.gives_up_for_all",
        "supervisor.starts_after_the_end", "ticker.drifts", "timeout.claims_the_parents_deadline",
        "timeout.leaves_the_job_to_nobody", "io.one_for_all"),
    test_name);

#ifdef WEFT_NET
INSTANTIATE_TEST_SUITE_P(Sockets, Planted,
                         ::testing::Values("socket.believes_the_event", "socket.forgets_the_rest",
                                           "listener.stops_at_the_aborted"),
                         test_name);
#endif

}  // namespace
}  // namespace weft::sim

#endif
