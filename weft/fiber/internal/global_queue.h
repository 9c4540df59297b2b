// The fibers that did not fit into the queue of a worker, or that no worker has brought.
#pragma once

#include "weft/fiber/internal/fiber_block.h"
#include "weft/fiber/internal/shared_queue.h"

namespace weft {

class GlobalQueue : public SharedQueue<Fiber> {};

}  // namespace weft
