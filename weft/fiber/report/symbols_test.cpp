#include "weft/fiber/report/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/fiber/runtime.h"

namespace weft {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Where it was called: an address in the calling function.
[[gnu::noinline]] std::uintptr_t address_of_caller() {
    return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;
}

struct Place {
    std::uintptr_t address;
    int line;
};

[[gnu::noinline]] Place a_place_in_a_function_of_its_own() {
    Place place{address_of_caller(), __LINE__};
    asm volatile("" ::: "memory");  // keeps the call from becoming a jump
    return place;
}

struct InlinedPlace {
    Place place;
    int call_line;
};

[[gnu::always_inline]] inline Place a_place_that_is_inlined() {
    return {address_of_caller(), __LINE__};
}

[[gnu::noinline]] InlinedPlace a_place_inside_another() {
    InlinedPlace inner{a_place_that_is_inlined(), __LINE__};
    asm volatile("" ::: "memory");
    return inner;
}

// A lambda of one file has no linkage name, nor has a template that is instantiated with it.
template <class Function>
[[gnu::always_inline]] inline auto call(Function function) {
    return function();
}

[[gnu::noinline]] InlinedPlace a_place_inside_a_lambda() {
    auto lambda = []
        __attribute__((always_inline)) { return Place{address_of_caller(), __LINE__}; };
    InlinedPlace inner{call(lambda), __LINE__};
    asm volatile("" ::: "memory");
    return inner;
}

std::string at_line(int line) {
    return "(weft/fiber/report/symbols_test.cpp:" + std::to_string(line) + ")";
}

// The NDEBUG build has no debug information, the cross builds no libdw.
constexpr bool has_lines() {
#if defined(NDEBUG) || !defined(__x86_64__)
    return false;
#else
    return true;
#endif
}

TEST(Symbols, FIB_16a_an_address_is_named_by_function_file_and_line) {
    Place place = a_place_in_a_function_of_its_own();
    std::string text = symbols::describe(place.address);
    EXPECT_NE(text.find("a_place_in_a_function_of_its_own"), std::string::npos) << text;
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
    EXPECT_THAT(text, HasSubstr(at_line(place.line)));
}

TEST(Symbols, FIB_16a_a_function_that_was_inlined_is_named_with_its_line_and_that_of_its_call) {
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
    InlinedPlace inner = a_place_inside_another();
    std::string text = symbols::describe(inner.place.address);
    EXPECT_THAT(text, StartsWith("weft::(anonymous namespace)::a_place_that_is_inlined"));
    EXPECT_THAT(text, HasSubstr(at_line(inner.place.line) + " inlined in weft::"));
    EXPECT_THAT(text, EndsWith("a_place_inside_another() " + at_line(inner.call_line))) << text;
}

TEST(Symbols, FIB_16a_a_lambda_that_was_inlined_is_named_with_its_line) {
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
    InlinedPlace inner = a_place_inside_a_lambda();
    std::string text = symbols::describe(inner.place.address);
    EXPECT_THAT(text, HasSubstr("a_place_inside_a_lambda"));
    EXPECT_THAT(text, HasSubstr("::operator()"));
    EXPECT_THAT(text, HasSubstr(at_line(inner.place.line) + " inlined in weft::"));
    EXPECT_THAT(text, HasSubstr("::call<"));
    EXPECT_THAT(text, EndsWith("a_place_inside_a_lambda() " + at_line(inner.call_line))) << text;
}

TEST(Symbols, FIB_16a_a_fiber_with_a_small_stack_may_ask) {
    Place place = a_place_in_a_function_of_its_own();
    Runtime runtime({.workers = 1});
    Result<std::string> text = runtime
                                   .spawn([&] { return symbols::describe(place.address); },
                                          {.stack_bytes = kStackBytesMin})
                                   .join();
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, symbols::describe(place.address));
}

TEST(Symbols, FIB_16a_each_of_many_addresses_gets_its_own_text) {
    Place place = a_place_in_a_function_of_its_own();
    std::uintptr_t addresses[] = {place.address, 1, place.address};
    std::vector<std::string> texts = symbols::describe(addresses);
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts[0], texts[2]);
    EXPECT_EQ(texts[1], "0x1");
}

}  // namespace
}  // namespace weft
