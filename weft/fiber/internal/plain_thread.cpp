#include "weft/fiber/internal/plain_thread.h"

#include "weft/base/env.h"
#include "weft/fiber/internal/worker.h"

namespace weft {

bool call_on_plain_thread(void (*function)(void* argument), void* argument) {
    if (!this_worker() && !env::current()) {
        function(argument);
        return true;
    }
    EnvThread thread = env::real::start_thread(function, argument, "weft-symbols");
    if (thread.handle == 0) return false;
    env::real::join_thread(thread);
    return true;
}

}  // namespace weft
