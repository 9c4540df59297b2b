#include "tests/sim/floor/table.h"

#include <algorithm>
#include <array>

#include "tests/sim/floor/blocking.h"
#include "tests/sim/floor/cancellation.h"
#include "tests/sim/floor/channels.h"
#include "tests/sim/floor/combining.h"
#include "tests/sim/floor/contexts.h"
#include "tests/sim/floor/fibers.h"
#include "tests/sim/floor/groups.h"
#include "tests/sim/floor/locks.h"
#include "tests/sim/floor/meetings.h"
#include "tests/sim/floor/memory.h"
#include "tests/sim/floor/periodic.h"
#include "tests/sim/floor/pipes.h"
#include "tests/sim/floor/pools.h"
#include "tests/sim/floor/scopes.h"
#include "tests/sim/floor/selects.h"
#include "tests/sim/floor/sockets.h"
#include "tests/sim/floor/supervisors.h"
#include "tests/sim/floor/tasks.h"
#include "tests/sim/floor/timeouts.h"
#include "tests/sim/floor/timers.h"

namespace weft::sim {
namespace {

using namespace scenarios;

constexpr Faults kNoMemory = {.allocation = true};
constexpr Faults kResets = {.resets = true};
constexpr Faults kNoNetwork = {.connects = true};
constexpr Faults kNoDescriptors = {.descriptors = true};
constexpr Faults kSteadyClock = {.pauses = false};
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
    Scenario{"no-memory-stop", "a stop without its fibers", stop_without_memory, kNoMemory},
    Scenario{"no-memory-jobs", "jobs that never begin", jobs_without_memory, kNoMemory},
    Scenario{"context-tree", "the first end above a context is its end", context_tree},
    Scenario{"context-anywhere", "contexts derived while one above is cancelled", context_anywhere},
    Scenario{"group-errors", "the first is given, some are collected, all are counted",
             group_errors},
    Scenario{"group-go-and-wait", "jobs that begin while somebody waits", group_go_and_wait},
    Scenario{"group-dropped", "let go without a wait", group_dropped},
    Scenario{"group-anywhere", "a group cancelled at one exact step", group_anywhere},
    Scenario{"task-waiters", "one outcome for one waiter", task_waiters},
    Scenario{"task-dropped", "let go without a wait", task_dropped},
    Scenario{"task-anywhere", "a task cancelled at one exact step", task_anywhere},
    Scenario{"shared-task", "one run for many waiters, and what follows", shared_task_waiters},
    Scenario{"shared-task-anywhere", "ended at one exact step", shared_task_anywhere},
    Scenario{"pool-traffic", "no more at once than allowed, all done", pool_traffic},
    Scenario{"pool-idle", "jobs that come one by one", pool_idles},
    Scenario{"pool-places", "every place comes back", pool_places},
    Scenario{"pool-close", "closed in the middle of the traffic", pool_close},
    Scenario{"pool-close-full", "waiting submitters are refused at once", pool_close_full},
    Scenario{"pool-close-anywhere", "close against submit", pool_close_anywhere},
    Scenario{"pool-cancel-anywhere", "a pool cancelled at one exact step", pool_cancel_anywhere},
    Scenario{"every", "a job again and again, until it fails or the context ends", every_ends},
    Scenario{"periodic-stop", "no run after a stop between two", periodic_stop_between,
             kSteadyClock},
    Scenario{"periodic-stop-anywhere", "stop against tick", periodic_stop_anywhere},
    Scenario{"periodic-cancel-anywhere", "cancelled at one exact step", periodic_cancel_anywhere},
    Scenario{"ticker", "a beat that does not drift", ticker_beats},
    Scenario{"timeout-deadlines", "own deadline, parent's deadline, job", timeout_deadlines},
    Scenario{"timeout-anywhere", "a parent cancelled at one exact step", timeout_anywhere},
    Scenario{"scope-tree", "scopes in scopes, cleaned up in reverse", scope_tree},
    Scenario{"scope-abandoned", "jobs let go while their scope ends", scope_keeps_the_abandoned},
    Scenario{"scope-cancel-anywhere", "scopes cancelled at one exact step", scope_cancel_anywhere},
    Scenario{"scope-shutdown-anywhere", "shutdown at one exact step", scope_shutdown_anywhere},
    Scenario{"pending", "completed or given up, once", pending_outcomes},
    Scenario{"pending-anywhere", "cancelled at one exact step", pending_anywhere},
    Scenario{"any", "the first success ends the others", any_of_some},
    Scenario{"race", "the first end ends the others", race_of_some},
    Scenario{"all-settled", "everybody's outcome", settled_all},
    Scenario{"retry", "so many attempts, and pauses between them", retry_attempts},
    Scenario{"hedge", "a rival for a slow attempt", hedge_attempts},
    Scenario{"combine-anywhere", "any, race, retry, hedge cancelled at one exact step",
             combine_anywhere},
    Scenario{"supervisor", "each failure restarts whom it should", supervisor_strategies},
    Scenario{"supervisor-gives-up", "one restart too many", supervisor_gives_up},
    Scenario{"supervisor-anywhere", "cancelled at one exact step", supervisor_anywhere},
#ifdef WEFT_NET
    Scenario{"socket-echo", "many clients, each gets back what it sends", socket_echo},
    Scenario{"socket-half-close", "question, end, answer, end", socket_half_close},
    Scenario{"socket-close", "closing wakes every call", socket_close_while_waiting},
    Scenario{"socket-cancel-anywhere", "all cancelled at one exact step", socket_cancel_anywhere},
    Scenario{"socket-close-anywhere", "closed at one exact step", socket_close_anywhere},
    Scenario{"socket-exhaustion", "served although descriptors run out", socket_exhaustion,
             kNoDescriptors},
    Scenario{"socket-reuse", "old events find nobody", socket_reuse, kTrueEvents},
    Scenario{"socket-connects", "no socket without a peer", socket_connects, kNoNetwork},
    Scenario{"socket-full-backlog", "who does not fit waits", socket_full_backlog},
    Scenario{"socket-resets", "connections break by themselves", socket_resets, kResets},
    Scenario{"socket-reset-on-close", "what is unread is told", socket_reset_on_close},
    Scenario{"no-memory-dial", "attempts that never begin", dial_without_memory, kNoMemory},
#endif
};

}  // namespace

std::span<const Scenario> all_scenarios() { return kScenarios; }

const Scenario* find_scenario(std::string_view name) {
    auto found = std::ranges::find(kScenarios, name, &Scenario::name);
    return found == kScenarios.end() ? nullptr : &*found;
}

}  // namespace weft::sim
