// Scenarios of Descriptor over simulated pipes.
#pragma once

namespace weft::sim::scenarios {

void pipe_traffic();
void pipe_messages();
void pipe_deadlines();
void pipe_close_while_waiting();
void pipe_broken();
void pipe_resets();
void descriptor_reuse();
void dormant_descriptors();
void close_pipe_anywhere();

}  // namespace weft::sim::scenarios
