#include "weft/async/pool.h"

namespace weft::async {

Result<Pool> Pool::create(const Context& parent, PoolOptions options) {
    if (options.workers <= 0) return kPoolWorkers();
    if (options.queue_size <= 0) return kPoolQueueSize();
    return Pool(async_internal::PoolCore::create(parent, static_cast<std::size_t>(options.workers),
                                                 static_cast<std::size_t>(options.queue_size)));
}

}  // namespace weft::async
