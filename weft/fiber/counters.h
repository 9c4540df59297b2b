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
};

}  // namespace weft
