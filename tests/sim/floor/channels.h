// Scenarios of Channel.
#pragma once

namespace weft::sim::scenarios {

void channel_traffic();
void channel_close();
void channel_pipeline();
void ping_pong();
void close_anywhere();

}  // namespace weft::sim::scenarios
