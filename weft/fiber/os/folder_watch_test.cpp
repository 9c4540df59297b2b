#include "weft/fiber/os/folder_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class FolderWatchTest : public ::testing::Test {
protected:
    FolderWatchTest() {
        std::string pattern = (fs::temp_directory_path() / "weft-watch.XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~FolderWatchTest() override { fs::remove_all(folder_); }

    std::string path(const char* name) const { return (folder_ / name).string(); }
    void write(const char* name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }

    fs::path folder_;
};

TEST_F(FolderWatchTest, RCT_5_a_change_wakes_whoever_waits) {
    write("a", "1");
    Runtime runtime({.workers = 1});
    Result<void> outcome = runtime
                               .spawn([&]() -> Result<void> {
                                   SeenFile seen = see_file(path("a"));
                                   FolderWatch watch = WEFT_TRY(FolderWatch::open());
                                   WEFT_TRY(watch.add(folder_.string()));
                                   EXPECT_TRUE(seen.is_current());
                                   Future<void> changing = spawn([&] { write("a", "12"); });
                                   while (seen.is_current()) WEFT_TRY(watch.wait());
                                   return changing.join();
                               })
                               .join();
    EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST_F(FolderWatchTest, RCT_5_a_file_that_comes_goes_or_is_replaced_is_another) {
    SeenFile none = see_file(path("a"));
    EXPECT_TRUE(none.is_current());
    write("a", "1");
    EXPECT_FALSE(none.is_current());
    SeenFile first = see_file(path("a"));
    EXPECT_TRUE(first.is_current());
    write("b", "1");
    fs::rename(path("b"), path("a"));
    EXPECT_FALSE(first.is_current());
    SeenFile second = see_file(path("a"));
    fs::remove(path("a"));
    EXPECT_FALSE(second.is_current());
}

TEST_F(FolderWatchTest, RCT_5_a_wait_honours_its_deadline_and_a_folder_must_be_one) {
    Result<FolderWatch> watch = FolderWatch::open();
    ASSERT_TRUE(watch) << watch.error().message();
    EXPECT_FALSE(watch->add(path("nowhere")));
    ASSERT_TRUE(watch->add(folder_.string()));
    Result<void> waited = watch->wait(Deadline::after(10ms));
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().kind(), ErrorKind::TimedOut);
    write("a", "1");
    EXPECT_TRUE(watch->wait(Deadline::after(20s)));
}

}  // namespace
}  // namespace weft
