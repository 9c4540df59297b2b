// A C program that uses each call of weft.h, with valid and invalid arguments. Every test is a job
// that runs on a fiber; those in `kThreadTests` run on the plain thread instead.
#include "weft/c/weft.h"

#include <stdio.h>
#include <string.h>

#define MILLISECOND INT64_C(1000000)
#define HOUR (INT64_C(3600) * 1000 * MILLISECOND)

static int failures = 0;  // written by one test at a time; its jobs do not write it

static void expect(int64_t got, int64_t wanted, const char* what, int line) {
    if (got == wanted) return;
    printf("weft_test.c:%d: %s is %lld, not %lld\n", line, what, (long long)got, (long long)wanted);
    ++failures;
}
#define EXPECT(call, wanted) expect((call), (wanted), #call, __LINE__)

// ---------------------------------------------------------------- jobs

static int return_number(weft_context* context, void* argument) {
    (void)context;
    return *(int*)argument;
}

static int sleep_an_hour(weft_context* context, void* argument) {
    (void)context;
    (void)argument;
    return weft_sleep(HOUR);
}

static int receive_one(weft_context* context, void* argument) {
    (void)context;
    void* item = NULL;
    return weft_channel_receive(argument, WEFT_FOREVER, &item);
}

static int compute_until_cancelled(weft_context* context, void* argument) {
    (void)context;
    (void)argument;
    for (;;) {
        int status = weft_checkpoint();
        if (status != WEFT_OK) return status;
    }
}

static int tell_deadline(weft_context* context, void* argument) {
    return weft_context_deadline(context, argument);
}

// ---------------------------------------------------------------- status

static void SC_9_every_status_has_a_text(void) {
    for (int status = WEFT_FAILED; status <= 1; ++status)
        EXPECT(strcmp(weft_status_text(status), "unknown status") != 0, 1);
    EXPECT(strcmp(weft_status_text(WEFT_TIMED_OUT), "timed out"), 0);
    EXPECT(strcmp(weft_status_text(WEFT_FAILED - 1), "unknown status"), 0);
}

// ---------------------------------------------------------------- fibers

static void SC_9_join_gives_what_the_job_returned(void) {
    int numbers[] = {WEFT_OK, 7, WEFT_CANCELLED, WEFT_TIMED_OUT, -1000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        weft_fiber* fiber = NULL;
        int outcome = 99;
        EXPECT(weft_spawn(NULL, return_number, &numbers[i], &fiber), WEFT_OK);
        EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
        EXPECT(outcome, numbers[i]);
        weft_fiber_free(fiber);
    }
}

static void SC_9_a_second_join_is_misuse(void) {
    int zero = 0, outcome = 0;
    weft_fiber* fiber = NULL;
    EXPECT(weft_spawn(NULL, return_number, &zero, &fiber), WEFT_OK);
    EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_MISUSE);
    weft_fiber_free(fiber);
}

static void SC_9_a_join_that_timed_out_can_be_repeated(void) {
    weft_context* context = NULL;
    weft_fiber* fiber = NULL;
    int outcome = 99;
    EXPECT(weft_context_with_cancel(NULL, &context), WEFT_OK);
    EXPECT(weft_spawn(context, sleep_an_hour, NULL, &fiber), WEFT_OK);
    EXPECT(weft_join(fiber, 0, &outcome), WEFT_TIMED_OUT);
    EXPECT(weft_join(fiber, MILLISECOND, &outcome), WEFT_TIMED_OUT);
    EXPECT(outcome, 99);
    EXPECT(weft_context_cancel(context), WEFT_OK);
    EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_CANCELLED);
    weft_fiber_free(fiber);
    weft_context_free(context);
}

static void SC_9_a_fiber_without_a_handle_goes_on(void) {
    weft_channel* channel = NULL;
    void* item = NULL;
    EXPECT(weft_channel_new(0, &channel), WEFT_OK);
    EXPECT(weft_spawn(NULL, receive_one, channel, NULL), WEFT_OK);
    EXPECT(weft_channel_send(channel, channel, WEFT_FOREVER), WEFT_OK);
    weft_fiber* fiber = NULL;
    EXPECT(weft_spawn(NULL, receive_one, channel, &fiber), WEFT_OK);
    weft_fiber_free(fiber);
    EXPECT(weft_channel_send(channel, channel, WEFT_FOREVER), WEFT_OK);
    EXPECT(weft_channel_receive(channel, 0, &item), WEFT_TIMED_OUT);
    weft_yield();
    weft_channel_free(channel);
}

static void SC_9_sleep_is_never_early(void) {
    int64_t begun = weft_now();
    EXPECT(weft_sleep(2 * MILLISECOND), WEFT_OK);
    EXPECT(weft_now() - begun >= 2 * MILLISECOND, 1);
    EXPECT(weft_sleep(0), WEFT_OK);
    EXPECT(weft_checkpoint(), WEFT_OK);
}

static void SC_9_fibers_refuse_null(void) {
    int outcome = 0;
    weft_fiber* fiber = (weft_fiber*)&outcome;
    EXPECT(weft_spawn(NULL, NULL, NULL, &fiber), WEFT_MISUSE);
    EXPECT(fiber == NULL, 1);
    EXPECT(weft_join(NULL, 0, &outcome), WEFT_MISUSE);
    EXPECT(weft_spawn(NULL, return_number, &outcome, &fiber), WEFT_OK);
    EXPECT(weft_join(fiber, WEFT_FOREVER, NULL), WEFT_MISUSE);
    EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
    weft_fiber_free(fiber);
    weft_fiber_free(NULL);
}

// ---------------------------------------------------------------- channels

static void SC_9_items_come_in_order_also_after_close(void) {
    int items[3] = {0, 1, 2};
    weft_channel* channel = NULL;
    void* item = NULL;
    EXPECT(weft_channel_new(3, &channel), WEFT_OK);
    for (int i = 0; i < 3; ++i) EXPECT(weft_channel_send(channel, &items[i], 0), WEFT_OK);
    EXPECT(weft_channel_send(channel, &items[0], 0), WEFT_TIMED_OUT);
    EXPECT(weft_channel_send(channel, &items[0], MILLISECOND), WEFT_TIMED_OUT);
    EXPECT(weft_channel_close(channel), WEFT_OK);
    EXPECT(weft_channel_close(channel), WEFT_OK);
    EXPECT(weft_channel_send(channel, &items[0], WEFT_FOREVER), WEFT_CLOSED);
    for (int i = 0; i < 3; ++i) {
        EXPECT(weft_channel_receive(channel, WEFT_FOREVER, &item), WEFT_OK);
        EXPECT(item == &items[i], 1);
    }
    EXPECT(weft_channel_receive(channel, WEFT_FOREVER, &item), WEFT_CLOSED);
    EXPECT(item == NULL, 1);
    weft_channel_free(channel);
}

static void SC_9_close_wakes_who_waits(void) {
    weft_channel* channel = NULL;
    weft_fiber* fiber = NULL;
    int outcome = 0;
    EXPECT(weft_channel_new(0, &channel), WEFT_OK);
    EXPECT(weft_spawn(NULL, receive_one, channel, &fiber), WEFT_OK);
    weft_yield();
    EXPECT(weft_channel_close(channel), WEFT_OK);
    EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_CLOSED);
    weft_fiber_free(fiber);
    weft_channel_free(channel);
}

static void SC_9_an_unbounded_channel_takes_everything(void) {
    weft_channel* channel = NULL;
    void* item = NULL;
    EXPECT(weft_channel_new(WEFT_UNBOUNDED, &channel), WEFT_OK);
    for (int i = 0; i < 1000; ++i) EXPECT(weft_channel_send(channel, &channel, 0), WEFT_OK);
    for (int i = 0; i < 1000; ++i) EXPECT(weft_channel_receive(channel, 0, &item), WEFT_OK);
    EXPECT(weft_channel_receive(channel, MILLISECOND, &item), WEFT_TIMED_OUT);
    weft_channel_free(channel);
}

static void SC_9_channels_refuse_null_and_what_is_too_much(void) {
    void* item = &item;
    weft_channel* channel = NULL;
    EXPECT(weft_channel_new(1, NULL), WEFT_MISUSE);
    EXPECT(weft_channel_new(SIZE_MAX - 1, &channel), WEFT_LIMIT);
    EXPECT(channel == NULL, 1);
    EXPECT(weft_channel_send(NULL, NULL, 0), WEFT_MISUSE);
    EXPECT(weft_channel_receive(NULL, 0, &item), WEFT_MISUSE);
    EXPECT(weft_channel_close(NULL), WEFT_MISUSE);
    EXPECT(weft_channel_new(1, &channel), WEFT_OK);
    EXPECT(weft_channel_receive(channel, 0, NULL), WEFT_MISUSE);
    weft_channel_free(channel);
    weft_channel_free(NULL);
}

// ---------------------------------------------------------------- contexts

static void SC_9_cancel_ends_every_wait_below(void) {
    weft_context *parent = NULL, *child = NULL;
    weft_channel* channel = NULL;
    weft_fiber* fibers[3] = {NULL, NULL, NULL};
    EXPECT(weft_channel_new(0, &channel), WEFT_OK);
    EXPECT(weft_context_with_cancel(NULL, &parent), WEFT_OK);
    EXPECT(weft_context_with_cancel(parent, &child), WEFT_OK);
    EXPECT(weft_spawn(child, sleep_an_hour, NULL, &fibers[0]), WEFT_OK);
    EXPECT(weft_spawn(child, receive_one, channel, &fibers[1]), WEFT_OK);
    EXPECT(weft_spawn(parent, compute_until_cancelled, NULL, &fibers[2]), WEFT_OK);
    weft_yield();
    EXPECT(weft_context_error(child), WEFT_OK);
    EXPECT(weft_context_cancel(parent), WEFT_OK);
    EXPECT(weft_context_cancel(parent), WEFT_OK);
    EXPECT(weft_context_error(child), WEFT_CANCELLED);
    for (int i = 0; i < 3; ++i) {
        int outcome = 0;
        EXPECT(weft_join(fibers[i], WEFT_FOREVER, &outcome), WEFT_OK);
        EXPECT(outcome, WEFT_CANCELLED);
        weft_fiber_free(fibers[i]);
    }
    weft_channel_free(channel);
    weft_context_free(child);
    weft_context_free(parent);
}

static void SC_9_a_deadline_ends_every_wait_below(void) {
    weft_context *timeout = NULL, *deadline = NULL;
    weft_fiber *first = NULL, *second = NULL;
    int outcome = 0;
    EXPECT(weft_context_with_timeout(NULL, 2 * MILLISECOND, &timeout), WEFT_OK);
    EXPECT(weft_context_with_deadline(NULL, weft_now() + 2 * MILLISECOND, &deadline), WEFT_OK);
    EXPECT(weft_spawn(timeout, sleep_an_hour, NULL, &first), WEFT_OK);
    EXPECT(weft_spawn(deadline, compute_until_cancelled, NULL, &second), WEFT_OK);
    EXPECT(weft_join(first, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_TIMED_OUT);
    EXPECT(weft_join(second, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_TIMED_OUT);
    EXPECT(weft_context_error(timeout), WEFT_TIMED_OUT);
    weft_fiber_free(first);
    weft_fiber_free(second);
    weft_context_free(timeout);
    weft_context_free(deadline);
}

static void SC_9_the_earlier_deadline_counts(void) {
    weft_context *near = NULL, *far = NULL, *none = NULL;
    int64_t of_near = 0, of_far = 0, of_none = 0, told = 0;
    int outcome = 99;
    EXPECT(weft_context_background(NULL, &none), WEFT_OK);
    EXPECT(weft_context_deadline(none, &of_none), WEFT_OK);
    EXPECT(of_none, INT64_MAX);
    EXPECT(weft_context_with_timeout(none, HOUR, &near), WEFT_OK);
    EXPECT(weft_context_with_timeout(near, 2 * HOUR, &far), WEFT_OK);
    EXPECT(weft_context_deadline(near, &of_near), WEFT_OK);
    EXPECT(weft_context_deadline(far, &of_far), WEFT_OK);
    EXPECT(of_far, of_near);
    weft_context_free(near);
    EXPECT(weft_context_call(far, tell_deadline, &told, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_OK);
    EXPECT(told, of_near);
    weft_context_free(far);
    weft_context_free(none);
}

static void SC_9_call_bounds_what_runs_here(void) {
    weft_context* context = NULL;
    int outcome = 0;
    EXPECT(weft_context_with_timeout(NULL, MILLISECOND, &context), WEFT_OK);
    EXPECT(weft_context_call(context, sleep_an_hour, NULL, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_TIMED_OUT);
    EXPECT(weft_context_error(NULL), WEFT_OK);
    weft_context_free(context);
}

static int misuse_lent_context(weft_context* context, void* argument) {
    (void)argument;
    weft_context_free(context);
    return weft_context_cancel(context);
}

static void SC_9_contexts_refuse_null_and_what_is_not_theirs(void) {
    weft_context* context = NULL;
    int outcome = 0;
    EXPECT(weft_context_background(NULL, NULL), WEFT_MISUSE);
    EXPECT(weft_context_with_cancel(NULL, NULL), WEFT_MISUSE);
    EXPECT(weft_context_with_timeout(NULL, 0, NULL), WEFT_MISUSE);
    EXPECT(weft_context_with_deadline(NULL, 0, NULL), WEFT_MISUSE);
    EXPECT(weft_context_deadline(NULL, NULL), WEFT_MISUSE);
    EXPECT(weft_context_cancel(NULL), WEFT_MISUSE);
    EXPECT(weft_context_call(NULL, return_number, &outcome, &outcome), WEFT_MISUSE);
    EXPECT(weft_context_background(NULL, &context), WEFT_OK);
    EXPECT(weft_context_cancel(context), WEFT_MISUSE);
    EXPECT(weft_context_call(context, NULL, NULL, &outcome), WEFT_MISUSE);
    EXPECT(weft_context_call(context, return_number, &outcome, NULL), WEFT_MISUSE);
    EXPECT(weft_context_call(context, misuse_lent_context, NULL, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_MISUSE);
    weft_context_free(context);
    weft_context_free(NULL);
}

// ---------------------------------------------------------------- groups

static void SC_9_a_group_waits_for_all_and_gives_the_first_error(void) {
    int seven = 7, outcome = 0;
    weft_group* group = NULL;
    EXPECT(weft_group_new(NULL, &group), WEFT_OK);
    EXPECT(weft_group_go(group, sleep_an_hour, NULL), WEFT_OK);
    EXPECT(weft_group_go(group, compute_until_cancelled, NULL), WEFT_OK);
    EXPECT(weft_group_go(group, return_number, &seven), WEFT_OK);
    EXPECT(weft_group_wait(group, &outcome), WEFT_OK);
    EXPECT(outcome, 7);
    EXPECT(weft_group_wait(group, &outcome), WEFT_MISUSE);
    EXPECT(weft_group_go(group, return_number, &seven), WEFT_MISUSE);
    weft_group_free(group);
}

static void SC_9_a_group_ends_with_its_parent(void) {
    weft_context* parent = NULL;
    weft_group *group = NULL, *empty = NULL;
    int outcome = 99;
    EXPECT(weft_context_with_cancel(NULL, &parent), WEFT_OK);
    EXPECT(weft_group_new(parent, &group), WEFT_OK);
    EXPECT(weft_group_go(group, sleep_an_hour, NULL), WEFT_OK);
    EXPECT(weft_context_cancel(parent), WEFT_OK);
    EXPECT(weft_group_wait(group, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_CANCELLED);
    weft_group_free(group);
    EXPECT(weft_group_new(NULL, &empty), WEFT_OK);
    EXPECT(weft_group_wait(empty, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_OK);
    weft_group_free(empty);
    weft_context_free(parent);
}

static void SC_9_groups_refuse_null(void) {
    int outcome = 0;
    weft_group* group = NULL;
    EXPECT(weft_group_new(NULL, NULL), WEFT_MISUSE);
    EXPECT(weft_group_go(NULL, return_number, &outcome), WEFT_MISUSE);
    EXPECT(weft_group_wait(NULL, &outcome), WEFT_MISUSE);
    EXPECT(weft_group_new(NULL, &group), WEFT_OK);
    EXPECT(weft_group_go(group, NULL, NULL), WEFT_MISUSE);
    EXPECT(weft_group_wait(group, NULL), WEFT_MISUSE);
    EXPECT(weft_group_wait(group, &outcome), WEFT_OK);
    weft_group_free(group);
    weft_group_free(NULL);
}

// ---------------------------------------------------------------- runtimes

static void SC_9_a_fiber_cannot_end_a_runtime(void) {
    int outcome = 0;
    weft_runtime* runtime = NULL;
    EXPECT(weft_runtime_new(1, 0, &runtime), WEFT_MISUSE);
    EXPECT(weft_runtime_free(NULL), WEFT_MISUSE);
    EXPECT(weft_run(return_number, &outcome, &outcome), WEFT_MISUSE);
}

static void SC_9_a_plain_thread_spawns_below_a_context_of_a_runtime(void) {
    int seven = 7, outcome = 0;
    weft_runtime* runtime = NULL;
    weft_context* context = NULL;
    weft_group* group = NULL;
    weft_fiber* fiber = NULL;
    EXPECT(weft_runtime_new(2, 128 * 1024, &runtime), WEFT_OK);
    EXPECT(weft_spawn(NULL, return_number, &seven, &fiber), WEFT_NO_RUNTIME);
    EXPECT(weft_context_background(runtime, &context), WEFT_OK);
    EXPECT(weft_spawn(context, return_number, &seven, &fiber), WEFT_OK);
    EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT(outcome, 7);
    weft_fiber_free(fiber);
    EXPECT(weft_group_new(context, &group), WEFT_OK);
    EXPECT(weft_group_go(group, return_number, &seven), WEFT_OK);
    EXPECT(weft_group_wait(group, &outcome), WEFT_OK);
    EXPECT(outcome, 7);
    weft_group_free(group);
    EXPECT(weft_runtime_run(runtime), WEFT_OK);
    weft_context_free(context);
    EXPECT(weft_runtime_free(runtime), WEFT_OK);
}

static void SC_9_shutdown_cancels_every_fiber(void) {
    int outcome = 0;
    weft_runtime* runtime = NULL;
    weft_context* context = NULL;
    weft_fiber* fiber = NULL;
    EXPECT(weft_runtime_new(1, 0, &runtime), WEFT_OK);
    EXPECT(weft_context_background(runtime, &context), WEFT_OK);
    EXPECT(weft_spawn(context, sleep_an_hour, NULL, &fiber), WEFT_OK);
    EXPECT(weft_runtime_shutdown(runtime, WEFT_FOREVER), WEFT_OK);
    EXPECT(weft_context_error(context), WEFT_CANCELLED);
    EXPECT(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT(outcome, WEFT_CANCELLED);
    weft_fiber_free(fiber);
    EXPECT(weft_spawn(context, sleep_an_hour, NULL, &fiber) < 0, 1);
    weft_context_free(context);
    EXPECT(weft_runtime_free(runtime), WEFT_OK);
}

static void SC_9_runtimes_refuse_null(void) {
    int outcome = 0;
    EXPECT(weft_runtime_new(1, 0, NULL), WEFT_MISUSE);
    EXPECT(weft_runtime_run(NULL), WEFT_MISUSE);
    EXPECT(weft_runtime_shutdown(NULL, 0), WEFT_MISUSE);
    EXPECT(weft_runtime_free(NULL), WEFT_OK);
    EXPECT(weft_run(NULL, NULL, &outcome), WEFT_MISUSE);
    EXPECT(weft_run(return_number, &outcome, NULL), WEFT_MISUSE);
    weft_yield();
    EXPECT(weft_sleep(MILLISECOND), WEFT_OK);
}

// ---------------------------------------------------------------- the program

typedef struct Test {
    const char* name;
    void (*run)(void);
} Test;
#define TEST(name) {#name, name}

static const Test kFiberTests[] = {
    TEST(SC_9_every_status_has_a_text),
    TEST(SC_9_join_gives_what_the_job_returned),
    TEST(SC_9_a_second_join_is_misuse),
    TEST(SC_9_a_join_that_timed_out_can_be_repeated),
    TEST(SC_9_a_fiber_without_a_handle_goes_on),
    TEST(SC_9_sleep_is_never_early),
    TEST(SC_9_fibers_refuse_null),
    TEST(SC_9_items_come_in_order_also_after_close),
    TEST(SC_9_close_wakes_who_waits),
    TEST(SC_9_an_unbounded_channel_takes_everything),
    TEST(SC_9_channels_refuse_null_and_what_is_too_much),
    TEST(SC_9_cancel_ends_every_wait_below),
    TEST(SC_9_a_deadline_ends_every_wait_below),
    TEST(SC_9_the_earlier_deadline_counts),
    TEST(SC_9_call_bounds_what_runs_here),
    TEST(SC_9_contexts_refuse_null_and_what_is_not_theirs),
    TEST(SC_9_a_group_waits_for_all_and_gives_the_first_error),
    TEST(SC_9_a_group_ends_with_its_parent),
    TEST(SC_9_groups_refuse_null),
    TEST(SC_9_a_fiber_cannot_end_a_runtime),
};

static const Test kThreadTests[] = {
    TEST(SC_9_a_plain_thread_spawns_below_a_context_of_a_runtime),
    TEST(SC_9_shutdown_cancels_every_fiber),
    TEST(SC_9_runtimes_refuse_null),
};

static int run_on_fiber(weft_context* context, void* argument) {
    (void)context;
    ((const Test*)argument)->run();
    return 5;
}

int main(void) {
    for (size_t i = 0; i < sizeof kFiberTests / sizeof *kFiberTests; ++i) {
        printf("%s\n", kFiberTests[i].name);
        int outcome = 0;
        EXPECT(weft_run(run_on_fiber, (void*)&kFiberTests[i], &outcome), WEFT_OK);
        EXPECT(outcome, 5);
    }
    for (size_t i = 0; i < sizeof kThreadTests / sizeof *kThreadTests; ++i) {
        printf("%s\n", kThreadTests[i].name);
        kThreadTests[i].run();
    }
    printf(failures == 0 ? "passed\n" : "%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
