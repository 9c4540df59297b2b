#include "weft/fiber/io/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weft/base/assert.h"
#include "weft/base/env.h"

namespace weft::asymmetric_fence {
namespace {

bool enlist_process() {
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

bool is_available() {
    if (env::current()) return true;
    static const bool available = enlist_process();
    return available;
}

void heavy() {
    if (env::current()) return;
    bool passed = ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    WEFT_ASSERT(passed, "membarrier(2) fails although the process is registered for it");
}

}  // namespace weft::asymmetric_fence
