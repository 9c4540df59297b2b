// GlobalQueue: fibers that did not fit into the queue of a worker, or that were made ready by a
// thread that is not a worker. Any thread.
#pragma once

#include "weft/fiber/schedule/shared_queue.h"
#include "weft/fiber/switch/fiber_block.h"

namespace weft {

class GlobalQueue : public SharedQueue<Fiber> {};

}  // namespace weft
