#include "weft/sim/scenario.h"

#include <algorithm>
#include <array>

#include "weft/sim/scenarios/blocking.h"
#include "weft/sim/scenarios/cancellation.h"
#include "weft/sim/scenarios/channels.h"
#include "weft/sim/scenarios/fibers.h"
#include "weft/sim/scenarios/locks.h"
#include "weft/sim/scenarios/meetings.h"
#include "weft/sim/scenarios/memory.h"
#include "weft/sim/scenarios/pipes.h"
#include "weft/sim/scenarios/selects.h"
#include "weft/sim/scenarios/timers.h"

namespace weft::sim {
namespace {

using namespace scenarios;

constexpr Faults kNoMemory = {.allocation = true};
constexpr Faults kResets = {.resets = true};
constexpr Faults kTrueEvents = {.spurious_readiness = false};

constexpr std::array kScenarios = {
    Scenario{"spawn-tree", "a tree of fibers, each joined by its parent", spawn_tree},
    Scenario{"many-fibers", "more fibers than a local queue holds", many_fibers},
    Scenario{"join-or-drop", "outcomes are taken or discarded, once", join_or_drop},
    Scenario{"join-deadlines", "a join that times out can be repeated", join_with_deadlines},
    Scenario{"outside-threads", "plain threads spawn and join", outside_threads},
    Scenario{"two-runtimes", "fibers join and unpark those of another runtime", two_runtimes},
    Scenario{"pinned", "pinned workers keep their fibers to themselves", pinned_workers},
    Scenario{"completions", "posted records run once, in order", completions},
    Scenario{"park-unpark", "unpark before, during and after park", park_unpark},
    Scenario{"unpark-storm", "unparks from everywhere, parks with deadlines", unpark_storm},
    Scenario{"shutdown", "shutdown cancels whatever is parked", shutdown_parked},
    Scenario{"shutdown-random", "shutdown while fibers spawn and wait", shutdown_at_random},
    Scenario{"shutdown-anywhere", "shutdown at one exact step", shutdown_anywhere},
    Scenario{"sleepers", "timers are never early and all fire", sleepers},
    Scenario{"sleep-or-cancel", "a sleep ends by its deadline or its token", sleep_or_cancel},
    Scenario{"timer-wheel", "the wheel against a sorted list", timer_wheel},
    Scenario{"timer-race", "a timer fires or is cancelled, never both", timer_race},
    Scenario{"cancel-tree", "cancellation reaches every fiber below", cancel_tree},
    Scenario{"cancel-spawning", "tokens made during a cancel are cancelled", cancel_while_spawning},
    Scenario{"deadline-tokens", "the earlier deadline ends a wait", deadline_tokens},
    Scenario{"shield", "a shield holds until its own deadline", shielded},
    Scenario{"explicit-token", "a token given to one call", explicit_token},
    Scenario{"listeners", "called once, never after stop", cancel_listeners},
    Scenario{"cancel-anywhere", "cancelled at one exact step", cancel_anywhere},
    Scenario{"channel-traffic", "every item once, in order, with all patience", channel_traffic},
    Scenario{"channel-close", "closed in the middle of the traffic", channel_close},
    Scenario{"channel-pipeline", "stages that end one after the other", channel_pipeline},
    Scenario{"ping-pong", "two that wait for each other", ping_pong},
    Scenario{"close-anywhere", "a channel closed at one exact step", close_anywhere},
    Scenario{"select-traffic", "every item once through select", select_traffic},
    Scenario{"select-timeouts", "a select ends for its own reasons", select_timeouts},
    Scenario{"select-fan-in", "one who waits for three, for ever", select_fan_in},
    Scenario{"select-shared", "selects over the same channels in any order",
             select_shared_channels},
    Scenario{"mutex", "one holder, no update lost", mutex_exclusion},
    Scenario{"mutex-impatience", "waits that end while the mutex is unlocked", mutex_impatience},
    Scenario{"mutex-hand-over", "a waiter gets its turn", mutex_hand_over},
    Scenario{"shared-mutex", "writers alone, readers together", shared_mutex_exclusion},
    Scenario{"shared-mutex-order", "nobody overtakes a writer", shared_mutex_order},
    Scenario{"shared-mutex-giving-up", "readers behind a writer that gives up",
             shared_mutex_giving_up},
    Scenario{"condition-queue", "a bounded queue by conditions", condition_queue},
    Scenario{"condition-notify", "one notification, one wake-up", condition_notify_one},
    Scenario{"condition-anywhere", "a wait cancelled at one exact step", condition_anywhere},
    Scenario{"semaphore", "never more permits than there are", semaphore_permits},
    Scenario{"semaphore-order", "first come, first served", semaphore_order},
    Scenario{"semaphore-giving-up", "those behind are served at once", semaphore_giving_up},
    Scenario{"wait-group", "rounds, each with a new group", wait_group_rounds},
    Scenario{"once", "one run, and another after a failure", once_attempts},
    Scenario{"barrier", "nobody is a phase ahead", barrier_phases},
    Scenario{"barrier-deserters", "arrivals taken back, a party less", barrier_deserters},
    Scenario{"event", "set and reset at once wakes those who waited", event_flips},
    Scenario{"gate", "the close waits for those inside", gate_closing},
    Scenario{"gone-waiters", "destroyed while the waker leaves", ended_before_the_waker},
    Scenario{"pipe-traffic", "streams come out whole", pipe_traffic},
    Scenario{"pipe-messages", "messages there, answers back", pipe_messages},
    Scenario{"pipe-deadlines", "waits on empty and full pipes end", pipe_deadlines},
    Scenario{"pipe-close", "closing wakes every call", pipe_close_while_waiting},
    Scenario{"pipe-broken", "one side goes", pipe_broken},
    Scenario{"pipe-resets", "pipes break by themselves", pipe_resets, kResets},
    Scenario{"pipe-close-anywhere", "a descriptor closed at one exact step", close_pipe_anywhere},
    Scenario{"descriptor-reuse", "old events find nobody", descriptor_reuse, kTrueEvents},
    Scenario{"dormant", "called once, or disarmed", dormant_descriptors},
    Scenario{"blocking", "bounded threads, each call once", blocking_calls},
    Scenario{"blocking-cancel", "withdrawn unrun, or awaited", blocking_cancelled},
    Scenario{"blocking-idle", "threads that end and start again", blocking_pool_idles},
    Scenario{"blocking-anywhere", "a call cancelled at one exact step", cancel_blocking_anywhere},
    Scenario{"no-memory-spawn", "fibers without block or stack", spawn_without_memory, kNoMemory},
    Scenario{"no-memory-channel", "items stay with their sender", channel_without_memory,
             kNoMemory},
    Scenario{"no-memory-pipe", "descriptors without a registration", pipe_without_memory,
             kNoMemory},
};

}  // namespace

std::span<const Scenario> all_scenarios() { return kScenarios; }

const Scenario* find_scenario(std::string_view name) {
    auto found = std::ranges::find(kScenarios, name, &Scenario::name);
    return found == kScenarios.end() ? nullptr : &*found;
}

Report run(const Scenario& scenario, Options options) {
    options.faults = options.faults & scenario.faults;
    return run(options, scenario.body);
}

EveryStep run_every_step(const Scenario& scenario, Options options) {
    EveryStep all;
    auto run_once = [&](std::uint64_t interrupt_at) {
        options.interrupt_at = interrupt_at;
        all.report = run(scenario, options);
        all.steps += all.report.steps;
        ++all.runs;
    };
    run_once(UINT64_MAX);
    for (std::uint64_t last = all.report.steps; all.report.ok() && all.interrupt_at < last;)
        run_once(++all.interrupt_at);
    return all;
}

}  // namespace weft::sim
