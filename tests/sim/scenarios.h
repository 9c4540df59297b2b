// The scenarios of HTTP: servers, clients and proxies that check themselves.
#pragma once

#include <span>

#include "weft/sim/scenario.h"

namespace weft::sim {

std::span<const Scenario> http_scenarios();

namespace scenarios {

void http_kept_connections();
void http_kept_connections_break();
void http_conversations();
void http_conversations_break();
void http_loop_conversations();
void http_loop_conversations_break();
void http_loop_clients_leave();
void http_loop_drain_anywhere();
void http_last_response();
void http_clients_leave();
void http_drain_anywhere();
void http_cancel_anywhere();
void http_client_timeouts();
void http_streams();
void http_without_memory();
void http_proxy_without_memory();
void http_proxy();
void http_proxy_breaks();
void http_proxy_cut_off();
void http_proxy_early_answer();
void websocket_echo();
void websocket_echo_breaks();
void sse_broadcast();

}  // namespace scenarios
}  // namespace weft::sim
