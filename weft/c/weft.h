// Weft for C, and for every language that can call C: fibers, channels, contexts and groups.
//
//     static int work(weft_context *context, void *argument) { ...; return WEFT_OK; }
//
//     int outcome = 0;
//     int status = weft_run(work, &something, &outcome);     // a runtime, from start to end
//
// Status. Every call that can fail returns one: WEFT_OK, or a negative weft_status that tells how
// the call itself went; weft_status_text() gives its text. What a job returned is no status of the
// call: it comes through `outcome`, unchanged. A job returns WEFT_OK or any other number as its
// error; positive ones are all yours. No exception crosses this header: one that leaves a job of
// C++ becomes its outcome WEFT_EXCEPTION.
//
// Handles. What a call gives through its last argument is yours, and weft_..._free() ends it; of
// NULL that does nothing. After a failure the handle given is NULL. A call that gets NULL where it
// needs something returns WEFT_MISUSE; a NULL context means the ambient one, that of the running
// fiber.
//
// Time is in nanoseconds. A timeout of zero does not wait, WEFT_FOREVER waits without end. Every
// wait also ends with the ambient context: as WEFT_CANCELLED, or WEFT_TIMED_OUT when its deadline
// has come.
//
// Any fiber, any thread: a fiber parks where a thread blocks. Where it says "plain thread" a fiber
// gets WEFT_MISUSE. Do not longjmp out of a job, nor keep the address of a thread-local over a
// wait: a fiber may wake in another thread. A fiber has 256 KiB of stack unless the runtime was
// told otherwise.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define WEFT_NOEXCEPT noexcept
#else
#define WEFT_NOEXCEPT
#endif

#define WEFT_FOREVER INT64_C(-1)
#define WEFT_UNBOUNDED SIZE_MAX /* capacity of a channel that never makes its senders wait */

typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_CANCELLED = -1,
    WEFT_TIMED_OUT = -2,
    WEFT_CLOSED = -3,
    WEFT_MISUSE = -4,
    WEFT_NO_RUNTIME = -5,
    WEFT_OUT_OF_MEMORY = -6,
    WEFT_LIMIT = -7,
    WEFT_EXCEPTION = -8,
    WEFT_FAILED = -9
} weft_status;

// A static text, such as "timed out"; of any number.
const char* weft_status_text(int status) WEFT_NOEXCEPT;

typedef struct weft_runtime weft_runtime;
typedef struct weft_fiber weft_fiber;
typedef struct weft_channel weft_channel;
typedef struct weft_context weft_context;
typedef struct weft_group weft_group;

// What fibers and groups run. The context is the fiber's own and is lent for the call: it is not to
// be cancelled or kept, but others may be derived from it.
typedef int (*weft_job)(weft_context* context, void* argument);

// ---------------------------------------------------------------- runtime

// Starts a runtime, runs the job on a fiber, waits for every fiber, ends the runtime. Plain thread.
int weft_run(weft_job job, void* argument, int* outcome) WEFT_NOEXCEPT;

// A runtime that is used from outside: spawn below weft_context_background(runtime). Zero workers
// and stack bytes are the defaults (WEFT_WORKERS, WEFT_FIBER_STACK_KB). Plain thread, as are all of
// these.
int weft_runtime_new(unsigned workers, size_t stack_bytes, weft_runtime** runtime) WEFT_NOEXCEPT;
// Until every fiber has ended by itself.
int weft_runtime_run(weft_runtime* runtime) WEFT_NOEXCEPT;
// Cancels every fiber and waits for all of them. WEFT_TIMED_OUT: some did not end, and go on.
int weft_runtime_shutdown(weft_runtime* runtime, int64_t timeout) WEFT_NOEXCEPT;
// Shuts down first, and waits as long as that takes.
int weft_runtime_free(weft_runtime* runtime) WEFT_NOEXCEPT;

// ---------------------------------------------------------------- fibers

// Starts the job on a fiber below the context. A plain thread has to name one. Without a place for
// the handle (NULL) the fiber goes on by itself; then, or if the handle is freed before a join, an
// outcome that is an error is logged and counted.
int weft_spawn(weft_context* context, weft_job job, void* argument,
               weft_fiber** fiber) WEFT_NOEXCEPT;
// Waits for the fiber's end and takes its outcome: once, a second join is WEFT_MISUSE. After
// WEFT_TIMED_OUT and WEFT_CANCELLED, ends of the wait, the fiber can still be joined.
int weft_join(weft_fiber* fiber, int64_t timeout, int* outcome) WEFT_NOEXCEPT;
void weft_fiber_free(weft_fiber* fiber) WEFT_NOEXCEPT;

// Lets others run; does nothing on a plain thread.
void weft_yield(void) WEFT_NOEXCEPT;
// The same, and how the ambient context is: for loops that compute.
int weft_checkpoint(void) WEFT_NOEXCEPT;
// Never early.
int weft_sleep(int64_t duration) WEFT_NOEXCEPT;
// The clock of deadlines: monotonic, and virtual in a simulation.
int64_t weft_now(void) WEFT_NOEXCEPT;

// ---------------------------------------------------------------- channels of pointers

// A capacity of zero makes a rendezvous. What an item points to belongs to its sender until it is
// sent, and then to whoever receives it.
int weft_channel_new(size_t capacity, weft_channel** channel) WEFT_NOEXCEPT;
// WEFT_CLOSED, WEFT_TIMED_OUT, WEFT_CANCELLED; the item is then still the sender's.
int weft_channel_send(weft_channel* channel, void* item, int64_t timeout) WEFT_NOEXCEPT;
// WEFT_CLOSED when closed and drained, WEFT_TIMED_OUT, WEFT_CANCELLED.
int weft_channel_receive(weft_channel* channel, int64_t timeout, void** item) WEFT_NOEXCEPT;
// Wakes all who wait. Items already sent are still received. Again: nothing.
int weft_channel_close(weft_channel* channel) WEFT_NOEXCEPT;
// Nobody may wait in it any more. Items that were not received are forgotten, not freed.
void weft_channel_free(weft_channel* channel) WEFT_NOEXCEPT;

// ---------------------------------------------------------------- contexts

// Ended only by the shutdown of the runtime; NULL means that of the running fiber.
int weft_context_background(weft_runtime* runtime, weft_context** context) WEFT_NOEXCEPT;
// What is derived ends with its parent, and may outlive the parent's handle.
int weft_context_with_cancel(weft_context* parent, weft_context** context) WEFT_NOEXCEPT;
// The earlier deadline of this one and the parent's counts. A deadline is a time of weft_now().
int weft_context_with_timeout(weft_context* parent, int64_t timeout,
                              weft_context** context) WEFT_NOEXCEPT;
int weft_context_with_deadline(weft_context* parent, int64_t deadline,
                               weft_context** context) WEFT_NOEXCEPT;
// Ends what was derived by one of the three; all waits below it return. Again: nothing.
int weft_context_cancel(weft_context* context) WEFT_NOEXCEPT;
// WEFT_OK while it goes on, then WEFT_CANCELLED or WEFT_TIMED_OUT.
int weft_context_error(weft_context* context) WEFT_NOEXCEPT;
// INT64_MAX when it has none.
int weft_context_deadline(weft_context* context, int64_t* deadline) WEFT_NOEXCEPT;
// Runs the job here and now, with this context as the ambient one.
int weft_context_call(weft_context* context, weft_job job, void* argument,
                      int* outcome) WEFT_NOEXCEPT;
// Ends nothing: fibers below go on.
void weft_context_free(weft_context* context) WEFT_NOEXCEPT;

// ---------------------------------------------------------------- groups

// Jobs that share a context below the parent; the first error cancels it.
int weft_group_new(weft_context* parent, weft_group** group) WEFT_NOEXCEPT;
// WEFT_MISUSE once the wait has begun.
int weft_group_go(weft_group* group, weft_job job, void* argument) WEFT_NOEXCEPT;
// Waits for every job; the outcome is the first error. Once. It cannot be cancelled: the end of the
// ambient context ends the jobs' instead.
int weft_group_wait(weft_group* group, int* outcome) WEFT_NOEXCEPT;
// Without a wait before it cancels the jobs and waits for them. Not in a job of the group.
void weft_group_free(weft_group* group) WEFT_NOEXCEPT;

#undef WEFT_NOEXCEPT
#ifdef __cplusplus
}
#endif
