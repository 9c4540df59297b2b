#include "weft/c/weft.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

int throwing(weft_context*, void*) { throw std::runtime_error("from a job"); }

int throwing_in_every_place(weft_context* context, void*) {
    int outcome = 0;
    weft_fiber* fiber = nullptr;
    EXPECT_EQ(weft_spawn(context, throwing, nullptr, &fiber), WEFT_OK);
    EXPECT_EQ(weft_join(fiber, WEFT_FOREVER, &outcome), WEFT_OK);
    EXPECT_EQ(outcome, WEFT_EXCEPTION);
    weft_fiber_free(fiber);

    weft_group* group = nullptr;
    EXPECT_EQ(weft_group_new(context, &group), WEFT_OK);
    EXPECT_EQ(weft_group_go(group, throwing, nullptr), WEFT_OK);
    outcome = 0;
    EXPECT_EQ(weft_group_wait(group, &outcome), WEFT_OK);
    EXPECT_EQ(outcome, WEFT_EXCEPTION);
    weft_group_free(group);

    outcome = 0;
    EXPECT_EQ(weft_context_call(context, throwing, nullptr, &outcome), WEFT_OK);
    EXPECT_EQ(outcome, WEFT_EXCEPTION);
    return 1;
}

}  // namespace

TEST(C, SC_9_what_a_job_throws_is_its_outcome) {
    int outcome = 0;
    EXPECT_EQ(weft_run(throwing, nullptr, &outcome), WEFT_OK);
    EXPECT_EQ(outcome, WEFT_EXCEPTION);
}

TEST(C, SC_9_no_exception_of_a_job_reaches_who_waits_for_it) {
    int outcome = 0;
    EXPECT_EQ(weft_run(throwing_in_every_place, nullptr, &outcome), WEFT_OK);
    EXPECT_EQ(outcome, 1);
}
