#include "weft/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

Result<int> succeed(int value) { return value; }

Result<int> fail(ErrorKind kind) { return kind; }

Result<void> check(bool good) {
    if (!good) return ErrorKind::Closed;
    return {};
}

TEST(Result, a_small_result_is_twenty_four_bytes) {
    EXPECT_EQ(sizeof(Result<int>), 24u);
    EXPECT_EQ(sizeof(Result<void*>), 24u);
    EXPECT_LE(sizeof(Result<void>), 24u);
}

TEST(Result, it_is_made_from_a_value_a_kind_an_error_or_unexpected) {
    Result<std::string> value = "text";
    EXPECT_EQ(*value, "text");
    Result<std::string> kind = ErrorKind::Reset;
    EXPECT_EQ(kind.error().kind(), ErrorKind::Reset);
    Result<std::string> error = Error(ErrorKind::Limit, "full");
    EXPECT_EQ(error.error().message(), "full");
    Result<std::string> unexpected = std::unexpected(Error(ErrorKind::Dns));
    EXPECT_EQ(unexpected.error().kind(), ErrorKind::Dns);
    Result<int> nothing;
    EXPECT_EQ(nothing, Result<int>(0));
}

TEST(Result, assignment_replaces_value_and_error) {
    Result<int> result = 1;
    result = ErrorKind::Closed;
    ASSERT_FALSE(result.has_value());
    result = 2;
    EXPECT_EQ(result, 2);
}

TEST(Result, results_compare_by_value_or_by_error) {
    EXPECT_EQ(succeed(1), succeed(1));
    EXPECT_NE(succeed(1), succeed(2));
    EXPECT_NE(succeed(1), fail(ErrorKind::Closed));
    EXPECT_EQ(fail(ErrorKind::Closed), fail(ErrorKind::Closed));
    EXPECT_NE(fail(ErrorKind::Closed), fail(ErrorKind::Reset));
    EXPECT_EQ(check(true), check(true));
    EXPECT_NE(check(true), check(false));
    EXPECT_TRUE(succeed(3) == 3);
    EXPECT_FALSE(fail(ErrorKind::Closed) == 3);
}

TEST(Result, copying_a_named_result_of_bool_copies_its_value) {
    Result<bool> no = false;
    Result<bool> copy(no);
    ASSERT_TRUE(copy.has_value());
    EXPECT_FALSE(*copy);
    std::vector<Result<bool>> several;
    several.emplace_back(no);
    EXPECT_FALSE(*several.front());
}

Result<int> add(Result<int> a, Result<int> b) {
    int left = WEFT_TRY(std::move(a));
    int right = WEFT_TRY(std::move(b));
    return left + right;
}

TEST(WeftTry, it_gives_the_value_or_returns_the_error) {
    EXPECT_EQ(add(1, 2), 3);
    EXPECT_EQ(add(1, ErrorKind::TimedOut).error().kind(), ErrorKind::TimedOut);
    EXPECT_EQ(add(ErrorKind::Tls, ErrorKind::TimedOut).error().kind(), ErrorKind::Tls);
}

TEST(WeftTry, the_error_goes_up_unchanged_and_the_rest_is_not_run) {
    bool reached = false;
    auto caller = [&]() -> Result<std::string> {
        WEFT_TRY(Result<void>(Error(ErrorKind::Limit, 7, "exactly this")));
        reached = true;
        return "done";
    };
    Result<std::string> result = caller();
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().message(), "exactly this");
    EXPECT_EQ(result.error().native_code(), 7);
    EXPECT_FALSE(reached);
}

TEST(WeftTry, it_works_for_void) {
    auto caller = [](bool good) -> Result<int> {
        WEFT_TRY(check(good));
        return 5;
    };
    EXPECT_EQ(caller(true), 5);
    EXPECT_EQ(caller(false).error().kind(), ErrorKind::Closed);
}

Result<std::unique_ptr<int>> make(int value) { return std::make_unique<int>(value); }

TEST(WeftTry, it_works_for_move_only_values) {
    auto caller = []() -> Result<std::unique_ptr<int>> {
        std::unique_ptr<int> first = WEFT_TRY(make(1));
        Result<std::unique_ptr<int>> named = make(2);
        std::unique_ptr<int> second = WEFT_TRY(std::move(named));
        *first += *second;
        return first;
    };  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): it does not follow the temporaries
    Result<std::unique_ptr<int>> result = caller();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(**result, 3);
}

TEST(WeftTry, nothing_outlives_the_function_whichever_way_it_returns) {
    auto witness = std::make_shared<int>(0);
    auto caller = [&](bool good) -> Result<std::shared_ptr<int>> {
        std::shared_ptr<int> first = WEFT_TRY(Result<std::shared_ptr<int>>(witness));
        auto fallible = [&](std::shared_ptr<int> owner) -> Result<std::shared_ptr<int>> {
            if (!good) return ErrorKind::Closed;
            return owner;
        };
        std::shared_ptr<int> second = WEFT_TRY(fallible(first));
        WEFT_TRY(Result<std::shared_ptr<int>>(second));
        return second;
    };
    EXPECT_FALSE(caller(false).has_value());
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_TRUE(caller(true).has_value());
    EXPECT_EQ(witness.use_count(), 1);
}

TEST(WeftTry, a_named_result_keeps_its_value) {
    auto caller = []() -> Result<std::string> {
        Result<std::string> named = "a text that is too long for the small buffer";
        std::string copy = WEFT_TRY(named);
        if (copy != *named) return ErrorKind::Other;
        return named;
    };
    EXPECT_TRUE(caller().has_value());
}

TEST(WeftTry, an_expression_with_commas_and_a_try_inside_a_lambda_compile) {
    auto apply = [](auto function, int argument) { return function(argument); };
    auto caller = [&]() -> Result<int> {
        int value = WEFT_TRY(apply(
            [](int argument) -> Result<int> {
                int inner = WEFT_TRY(succeed(argument));
                return inner + 1;
            },
            1));
        return value;
    };
    EXPECT_EQ(caller(), 2);
}

TEST(Result, NET_3b_context_is_for_errors_alone) {
    EXPECT_EQ(*in_context(Result<int>(3), "read", "a.txt"), 3);
    Result<int> failed = in_context(Result<int>(ErrorKind::TimedOut), "read", "a.txt");
    EXPECT_EQ(failed.error().message(), "read a.txt: timed out");
    EXPECT_TRUE(in_context(Result<void>(), "close"));
}

}  // namespace
}  // namespace weft
