#include "weft/fiber/symbols.h"

#include <gtest/gtest.h>

#include "weft/fiber/runtime.h"

namespace weft {
namespace {

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
    std::string where = "(weft/fiber/symbols_test.cpp:" + std::to_string(place.line) + ")";
    EXPECT_NE(text.find(where), std::string::npos) << text;
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
