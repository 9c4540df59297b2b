// Weft for C, and for every language that can call C: fibers, channels, contexts and groups.
//
//     static int work(weft_context *context, void *argument) { ...; return WEFT_OK; }
//
//     int outcome = 0;
//     int status = weft_run(work, &something, &outcome);     // a runtime, from start to end
//
// Status. Every call that can fail returns one: WEFT_OK, or a negative weft_status that tells how
// the call itself went; weft_status_text() gives its text. What a job returned is no status of the
// call: it is stored in `outcome`, unchanged. A job returns WEFT_OK or any other number as its
// error; all positive numbers are free for the program's own errors. No exception crosses this
// header: one that leaves a job written in C++ becomes its outcome WEFT_EXCEPTION.
//
// Handles. The caller owns a handle that a call stores through its last argument, and frees it with
// weft_..._free(), which does nothing for NULL. After a failure the stored handle is NULL. A call
// that gets NULL for a required argument returns WEFT_MISUSE; a NULL context means the ambient one,
// that of the calling fiber.
//
// Time is in nanoseconds. A timeout of zero does not wait, WEFT_FOREVER waits without end. Every
// wait also ends with the ambient context: as WEFT_CANCELLED, or WEFT_TIMED_OUT when its deadline
// has come.
//
// Any fiber, any thread: a fiber parks where a thread blocks. Functions marked "plain thread"
// return WEFT_MISUSE to a fiber. Do not longjmp out of a job, nor keep the address of a
// thread-local over a wait: a fiber may resume on another thread. A fiber has 256 KiB of stack
// unless the runtime was started with another size.
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

// A static text, such as "timed out"; never NULL, whatever the number.
const char* weft_status_text(int status) WEFT_NOEXCEPT;

typedef struct weft_runtime weft_runtime;
typedef struct weft_fiber weft_fiber;
typedef struct weft_channel weft_channel;
typedef struct weft_context weft_context;
typedef struct weft_group weft_group;

// A function that a fiber or a group runs. The context is that of the fiber and is lent for the
// call: it must not be cancelled or kept, but others may be derived from it.
typedef int (*weft_job)(weft_context* context, void* argument);

// ---------------------------------------------------------------- runtime

// Starts a runtime, runs the job on a fiber, waits for every fiber, ends the runtime. Plain thread.
int weft_run(weft_job job, void* argument, int* outcome) WEFT_NOEXCEPT;

// A runtime for plain threads: spawn below weft_context_background(runtime). Zero workers and stack
// bytes mean the defaults (WEFT_WORKERS, WEFT_FIBER_STACK_KB). Plain thread, as are the next three.
int weft_runtime_new(unsigned workers, size_t stack_bytes, weft_runtime** runtime) WEFT_NOEXCEPT;
// Waits until every fiber has ended by itself.
int weft_runtime_run(weft_runtime* runtime) WEFT_NOEXCEPT;
// Cancels every fiber and waits for all of them. WEFT_TIMED_OUT: some have not ended, and still
// run.
int weft_runtime_shutdown(weft_runtime* runtime, int64_t timeout) WEFT_NOEXCEPT;
// Shuts down first, and waits as long as that takes.
int weft_runtime_free(weft_runtime* runtime) WEFT_NOEXCEPT;

// ---------------------------------------------------------------- fibers

// Starts the job on a fiber below the context. A plain thread must pass a context. If `fiber` is
// NULL, nobody can join the fiber; then, or if the handle is freed before a join, an outcome that
// is an error is logged and counted.
int weft_spawn(weft_context* context, weft_job job, void* argument,
               weft_fiber** fiber) WEFT_NOEXCEPT;
// Waits for the fiber's end and takes its outcome, once: a second join is WEFT_MISUSE. After
// WEFT_TIMED_OUT and WEFT_CANCELLED, which end only the wait, the fiber can still be joined.
int weft_join(weft_fiber* fiber, int64_t timeout, int* outcome) WEFT_NOEXCEPT;
void weft_fiber_free(weft_fiber* fiber) WEFT_NOEXCEPT;

// Ends the fiber's turn, so that other fibers can run; does nothing on a plain thread.
void weft_yield(void) WEFT_NOEXCEPT;
// The same, and returns the status of the ambient context: for loops that compute.
int weft_checkpoint(void) WEFT_NOEXCEPT;
// Sleeps for the duration, never for less; also ends with the ambient context.
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
// Wakes all waiters. Items already sent are still received. Idempotent.
int weft_channel_close(weft_channel* channel) WEFT_NOEXCEPT;
// No call may be waiting on the channel. Items that were not received are not freed.
void weft_channel_free(weft_channel* channel) WEFT_NOEXCEPT;

// ---------------------------------------------------------------- contexts

// A context that only the shutdown of the runtime ends; NULL means the runtime of the calling
// fiber.
int weft_context_background(weft_runtime* runtime, weft_context** context) WEFT_NOEXCEPT;
// A derived context ends with its parent, and may outlive the parent's handle.
int weft_context_with_cancel(weft_context* parent, weft_context** context) WEFT_NOEXCEPT;
// The earlier of this deadline and the parent's counts. Deadlines are times of weft_now().
int weft_context_with_timeout(weft_context* parent, int64_t timeout,
                              weft_context** context) WEFT_NOEXCEPT;
int weft_context_with_deadline(weft_context* parent, int64_t deadline,
                               weft_context** context) WEFT_NOEXCEPT;
// Ends a context that was derived by one of these three; all waits below it return. Idempotent.
int weft_context_cancel(weft_context* context) WEFT_NOEXCEPT;
// WEFT_OK until the context ends, then WEFT_CANCELLED or WEFT_TIMED_OUT.
int weft_context_error(weft_context* context) WEFT_NOEXCEPT;
// Stores INT64_MAX when the context has no deadline.
int weft_context_deadline(weft_context* context, int64_t* deadline) WEFT_NOEXCEPT;
// Calls the job in the calling fiber or thread, with this context as the ambient one.
int weft_context_call(weft_context* context, weft_job job, void* argument,
                      int* outcome) WEFT_NOEXCEPT;
// Frees the handle. It does not end the context: fibers below it still run.
void weft_context_free(weft_context* context) WEFT_NOEXCEPT;

// ---------------------------------------------------------------- groups

// Jobs that share a context below the parent; the first error cancels it.
int weft_group_new(weft_context* parent, weft_group** group) WEFT_NOEXCEPT;
// WEFT_MISUSE once the wait has begun.
int weft_group_go(weft_group* group, weft_job job, void* argument) WEFT_NOEXCEPT;
// Waits for every job; the outcome is the first error. Once. It cannot be cancelled: the end of the
// ambient context ends the context of the jobs instead.
int weft_group_wait(weft_group* group, int* outcome) WEFT_NOEXCEPT;
// Cancels the jobs and waits for them, unless weft_group_wait() has. Not in a job of the group.
void weft_group_free(weft_group* group) WEFT_NOEXCEPT;

#undef WEFT_NOEXCEPT
#ifdef __cplusplus
}
#endif
