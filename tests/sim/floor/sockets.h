// Scenarios of net::Socket and net::Listener over the simulated network. Only where net/ is built.
#pragma once

namespace weft::sim::scenarios {

void socket_echo();
void socket_half_close();
void socket_close_while_waiting();
void socket_cancel_anywhere();
void socket_close_anywhere();
void socket_exhaustion();
void socket_reuse();
void socket_connects();
void socket_full_backlog();
void socket_resets();
void socket_reset_on_close();

}  // namespace weft::sim::scenarios
