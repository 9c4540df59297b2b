#include "weft/data/sqlite/internal/executor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/data/sqlite/sqlite.h"
#include "weft/testing/scale.h"
#include "weft/testing/short_memory.h"

namespace weft::data::sqlite_internal {
namespace {

// Opens a database where there is no room for the stack of another thread.
[[noreturn]] void open_where_no_thread_can_be_had() {
    ::alarm(30);  // ends a wait for a thread that does not exist
    weft::testing::use_one_heap();
    weft::testing::fill_heap(4 << 20);
    weft::testing::limit_address_space(0);
    Result<Database> database = open_sqlite({.path = ":memory:"});
    weft::testing::lift_limit();
    bool is_told = !database && database.error().kind() == ErrorKind::OutOfMemory;
    weft::testing::end_with(is_told ? "it is an error" : "it is none");
}

TEST(SqliteExecutorDeathTest, DAT_2_a_thread_that_cannot_be_started_is_an_error) {
    if (weft::testing::kSanitizer) GTEST_SKIP() << "the sanitizer itself needs the memory";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(open_where_no_thread_can_be_had(), ::testing::ExitedWithCode(0), "it is an error");
}

}  // namespace
}  // namespace weft::data::sqlite_internal
