#include "weft/base/assert.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(AssertDeathTest, a_broken_assertion_prints_condition_text_and_place_and_aborts) {
    int count = 3;
    EXPECT_DEATH(WEFT_ASSERT(count < 3, "too many"),
                 "^weft: assertion failed: count < 3: too many \\(.*assert_test\\.cpp:[0-9]+\\)");
}

TEST(AssertDeathTest, without_text_the_place_follows_the_condition) {
    bool ready = false;
    EXPECT_DEATH(WEFT_ASSERT(ready), "^weft: assertion failed: ready \\(.*assert_test\\.cpp:");
}

TEST(AssertDeathTest, unreachable_code_aborts) {
    EXPECT_DEATH(WEFT_UNREACHABLE(), "^weft: assertion failed: unreachable: .*assert_test\\.cpp:");
}

TEST(Assert, a_true_condition_is_evaluated_once) {
    int evaluations = 0;
    WEFT_ASSERT(++evaluations == 1, "once");
    EXPECT_EQ(evaluations, 1);
}

TEST(Assert, a_debug_assertion_is_not_evaluated_in_release_builds) {
    int evaluations = 0;
    WEFT_DASSERT(++evaluations > 0);
    WEFT_DASSERT(++evaluations > 0, "with text");
#ifdef NDEBUG
    EXPECT_EQ(evaluations, 0);
#else
    EXPECT_EQ(evaluations, 2);
#endif
}

TEST(AssertDeathTest, a_report_longer_than_its_buffer_still_ends_the_process) {
    std::string long_path(5000, 'p');
    EXPECT_DEATH(assertion_failed("condition", "text", long_path.c_str(), 1),
                 "^weft: assertion failed: condition: text \\(ppp");
}

}  // namespace
}  // namespace weft
