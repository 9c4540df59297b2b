#include "weft/fiber/naming.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "weft/fiber/fiber.h"
#include "weft/fiber/local.h"
#include "weft/fiber/report/dump.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

constexpr FiberLabel kKind("kind of job");
constexpr FiberLabel kOther("other kind");

std::string name_here() { return std::string(current_name()); }

// Of all fibers, as the dump shows them.
bool is_listed(std::string_view name) {
    std::vector<FiberReport> fibers = list_fibers(Backtraces::No);
    return std::ranges::find(fibers, name, &FiberReport::name) != fibers.end();
}

TEST(Naming, FIB_16f_a_fiber_without_a_name_goes_by_its_label) {
    Result<void> outcome = run([] {
        Future<void> parked = spawn([] { return park(); }, {.label = &kKind});
        EXPECT_TRUE(is_listed("kind of job"));
        unpark(parked.id());
        EXPECT_TRUE(parked.join());
        EXPECT_FALSE(is_listed("kind of job"));
    });
    EXPECT_TRUE(outcome);
}

TEST(Naming, FIB_16f_a_name_that_was_given_goes_before_a_label) {
    Result<void> outcome = run([] {
        auto name = [] {
            std::string before = name_here();
            set_label(kOther);
            return before + ", " + name_here();
        };
        EXPECT_EQ(spawn(name, {.name = "given", .label = &kKind}).join(), "given, given");
        EXPECT_EQ(spawn(name, {.label = &kKind}).join(), "kind of job, other kind");
        EXPECT_EQ(spawn(name).join(), ", other kind");
    });
    EXPECT_TRUE(outcome);
}

TEST(Naming, FIB_16f_a_label_does_not_pass_to_the_next_fiber_of_the_block) {
    Result<void> outcome = run(
        [] {
            for (int i = 0; i < 100; ++i) {
                const FiberLabel* label = i % 2 ? &kKind : nullptr;
                auto name = [] {
                    std::string seen = name_here();
                    set_label(kOther);
                    return seen;
                };
                EXPECT_EQ(spawn(name, {.label = label}).join(), i % 2 ? "kind of job" : "");
            }
        },
        {.workers = 1});
    EXPECT_TRUE(outcome);
}

TEST(Naming, FIB_16f_a_label_stays_when_the_fiber_gets_locals) {
    Result<void> outcome = run([] {
        FiberLocal<int> local;
        auto names = [&] {
            local.get() = 7;
            std::string before = name_here();
            set_label(kOther);
            EXPECT_EQ(local.get(), 7);
            return before + ", " + name_here();
        };
        EXPECT_EQ(spawn(names, {.label = &kKind}).join(), "kind of job, other kind");
    });
    EXPECT_TRUE(outcome);
}

TEST(Naming, FIB_16f_a_name_for_a_while_goes_and_gives_way_to_the_label) {
    Result<void> outcome = run([] {
        auto names = [] {
            std::string seen;
            for (std::string name : {"one job, with a name that needs memory", "", "another"}) {
                std::string lent = name;
                NameScope scope(lent);
                seen += name_here() + "; ";
            }
            return seen + name_here();
        };
        EXPECT_EQ(spawn(names, {.label = &kKind}).join(),
                  "one job, with a name that needs memory; kind of job; another; kind of job");
    });
    EXPECT_TRUE(outcome);
}

TEST(Naming, FIB_16f_the_name_that_was_given_is_told_apart) {
    Result<void> outcome = run([] {
        auto given = [] { return std::string(given_name()); };
        EXPECT_EQ(spawn(given, {.label = &kKind}).join(), "");
        EXPECT_EQ(spawn(given, {.name = "given", .label = &kKind}).join(), "given");
    });
    EXPECT_TRUE(outcome);
}

TEST(Naming, FIB_16f_a_plain_thread_has_no_label) {
    set_label(kKind);
    std::string name = "name";
    NameScope scope(name);
    EXPECT_EQ(current_name(), "");
    EXPECT_EQ(name, "name");
}

TEST(Naming, FIB_16f_a_label_is_kept_once_for_each_text) {
    std::string text = "GET /users/:id";
    const FiberLabel* first = FiberLabel::keep(text);
    const FiberLabel* again = FiberLabel::keep("GET /users/:id");
    text.assign(text.size(), 'x');  // it has a copy
    ASSERT_TRUE(first);
    EXPECT_EQ(first, again);
    EXPECT_EQ(first->text(), "GET /users/:id");
}

TEST(Naming, FIB_16f_a_kept_label_is_short_and_printable) {
    EXPECT_EQ(FiberLabel::keep("a\nb\x1b[31m")->text(), "a?b?[31m");
    EXPECT_EQ(FiberLabel::keep(std::string(1000, 'a'))->text().size(), FiberLabel::kKeptBytesMax);
    // A character of two bytes that would end behind the limit is left out as a whole.
    std::string long_text(FiberLabel::kKeptBytesMax - 1, 'a');
    EXPECT_EQ(FiberLabel::keep(long_text + "\u00fcb")->text(), long_text);
}

TEST(NamingDeathTest, FIB_16f_no_more_labels_are_kept_than_the_limit_says) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            std::size_t kept = 0;
            const FiberLabel* first = FiberLabel::keep("label 0");
            for (std::size_t i = 0; i < FiberLabel::kKeptMax + 10; ++i)
                kept += FiberLabel::keep("label " + std::to_string(i)) ? 1 : 0;
            bool stays = FiberLabel::keep("label 0") == first;
            _exit(kept == FiberLabel::kKeptMax && stays ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft
