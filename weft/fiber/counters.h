// What a runtime counts. Any thread may read.
#pragma once

#include "weft/base/metrics.h"

namespace weft {

struct SchedulerCounters {
    Counter dropped_errors;  // outcomes that nobody looked at
    Counter late_outcomes;   // of jobs whose caller had stopped waiting
    Counter overflows;       // local queue to global queue
    Counter wakeups;         // of sleeping workers
    Counter rescues;         // looks at a worker that seemed stuck
    Counter stalls;          // fibers that did not let go of their worker; see stall_report
    Counter hangs;           // times that no fiber could run any more; see hang_report
};

}  // namespace weft
