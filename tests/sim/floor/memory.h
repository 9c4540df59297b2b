// Scenarios of memory that runs out: an error to the caller, and nothing lost.
#pragma once

namespace weft::sim::scenarios {

void spawn_without_memory();
void channel_without_memory();
void pipe_without_memory();
void jobs_without_memory();
void stop_without_memory();
void dial_without_memory();  // where net/ is built

}  // namespace weft::sim::scenarios
