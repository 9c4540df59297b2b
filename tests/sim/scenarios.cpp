#include "tests/sim/scenarios.h"

#include <array>

namespace weft::sim {
namespace {

using namespace scenarios;

constexpr Faults kResets = {.resets = true};
constexpr Faults kNoMemory = {.allocation = true};

constexpr std::array kScenarios = {
    Scenario{"http-kept", "a client's connections end while many use it", http_kept_connections},
    Scenario{"http-kept-resets", "the same, and they break", http_kept_connections_break, kResets},
    Scenario{"http-server", "every request once, all responses in order", http_conversations},
    Scenario{"http-server-resets", "the same, and connections break", http_conversations_break,
             kResets},
    Scenario{"http-last", "a server that ends before its clients do", http_last_response},
    Scenario{"http-gone", "the context of one who goes away ends", http_clients_leave},
    Scenario{"http-drain-anywhere", "drained at one exact step, nobody is lost",
             http_drain_anywhere},
    Scenario{"http-loop", "the same in the loop, at once and later", http_loop_conversations},
    Scenario{"http-loop-resets", "the same, and connections break", http_loop_conversations_break,
             kResets},
    Scenario{"http-loop-gone", "a kept request ends with its client", http_loop_clients_leave},
    Scenario{"http-loop-drain-anywhere", "drained at one exact step, no reply is lost",
             http_loop_drain_anywhere},
    Scenario{"http-cancel-anywhere", "requests cancelled at one exact step", http_cancel_anywhere},
    Scenario{"http-timeouts", "each phase of a request can be too long", http_client_timeouts},
    Scenario{"http-streams", "bodies in pieces, both ways", http_streams},
    Scenario{"http-no-memory", "one outcome each where allocations fail", http_without_memory,
             kNoMemory},
    Scenario{"proxy", "bodies pass both ways, whole", http_proxy},
    Scenario{"proxy-no-memory", "whole, or an error, where allocations fail",
             http_proxy_without_memory, kNoMemory},
    Scenario{"proxy-resets", "whole, or an error", http_proxy_breaks, kResets},
    Scenario{"proxy-cut-off", "upstreams that go away are noticed", http_proxy_cut_off},
    Scenario{"proxy-early", "an early answer does not cut an upload off", http_proxy_early_answer},
    Scenario{"websocket", "messages come back in order, a close is answered", websocket_echo},
    Scenario{"websocket-resets", "the same, and connections break", websocket_echo_breaks, kResets},
    Scenario{"sse", "nobody misses what is kept", sse_broadcast},
};

}  // namespace

std::span<const Scenario> http_scenarios() { return kScenarios; }

}  // namespace weft::sim
