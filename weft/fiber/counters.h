// SchedulerCounters: what a runtime counts. Any thread may read.
#pragma once

#include "weft/base/metrics.h"

namespace weft {

struct SchedulerCounters {
    Counter dropped_errors;  // errors that nobody took
    Counter late_outcomes;   // outcomes of jobs whose caller had stopped waiting
    Counter overflows;       // of a worker's queue into the global queue
    Counter wakeups;         // of sleeping workers
    Counter rescues;         // how often the watchman helped a worker that seemed stuck
    Counter stalls;          // fibers that ran too long without a switch; see stall_report
    Counter hangs;           // how often no fiber could run any more; see hang_report
};

}  // namespace weft
