#include "weft/fiber/os/directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// root/ with a file, a folder with a file, and links; outside/ next to it.
class DirectoryTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "weft-directory-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        fs::create_directories(path("root/inner"));
        fs::create_directories(path("outside"));
        write("root/a", "text of a");
        write("root/inner/b", "text of b");
        write("outside/secret", "secret");
        fs::create_symlink("../a", path("root/inner/to_a"));
        fs::create_symlink("inner", path("root/to_inner"));
        fs::create_symlink("../outside/secret", path("root/out"));
        fs::create_symlink(path("root/a"), path("root/absolute"));
        fs::create_symlink("loop", path("root/loop"));
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
    void write(std::string_view name, std::string_view text) const {
        std::ofstream(path(name)) << text;
    }
    Directory root() const {
        Result<Directory> root = Directory::open(path("root"));
        EXPECT_TRUE(root);
        return std::move(*root);
    }

    std::string folder_;
};

// What is in it, or the number of the error.
std::string text_of(const Result<OpenedFile>& opened) {
    if (!opened) return std::to_string(opened.error().native_code());
    std::string text(100, '\0');
    Result<std::size_t> count = opened->file.read_at(0, std::as_writable_bytes(std::span(text)));
    if (!count) return std::to_string(count.error().native_code());
    text.resize(*count);
    return text;
}

TEST_F(DirectoryTest, HTTP_8_no_path_leads_out_of_a_directory) {
    Directory here = root();
    std::string leaves = std::to_string(EXDEV);
    for (Links links : {Links::Refuse, Links::Beneath}) {
        EXPECT_EQ(text_of(here.open_file("../outside/secret", links)), leaves);
        EXPECT_EQ(text_of(here.open_file("inner/../../outside/secret", links)), leaves);
        EXPECT_EQ(text_of(here.open_file(path("root/a"), links)), leaves);
        EXPECT_EQ(text_of(here.open_file("..", links)), leaves);
    }
    EXPECT_EQ(text_of(here.open_file("out", Links::Beneath)), leaves);
    EXPECT_EQ(text_of(here.open_file("absolute", Links::Beneath)), leaves);
    EXPECT_EQ(text_of(here.open_file("loop", Links::Beneath)), std::to_string(ELOOP));
    EXPECT_EQ(text_of(here.open_file("missing")), std::to_string(ENOENT));
    EXPECT_EQ(text_of(here.open_file("a/b")), std::to_string(ENOTDIR));
    EXPECT_EQ(text_of(here.open_file(std::string("a\0b", 3))), std::to_string(EINVAL));
    EXPECT_EQ(text_of(here.open_file(std::string(5000, 'x'))), std::to_string(ENAMETOOLONG));
    EXPECT_FALSE(Directory::open(path("root/a")));
    EXPECT_FALSE(Directory::open(path("nowhere")));
}

TEST_F(DirectoryTest, HTTP_8_links_below_a_directory_are_followed_only_if_that_is_wanted) {
    Directory here = root();
    EXPECT_EQ(text_of(here.open_file("a")), "text of a");
    EXPECT_EQ(text_of(here.open_file("inner/b")), "text of b");
    EXPECT_EQ(text_of(here.open_file("inner/to_a", Links::Beneath)), "text of a");
    EXPECT_EQ(text_of(here.open_file("to_inner/b", Links::Beneath)), "text of b");
    for (const char* name : {"inner/to_a", "to_inner/b", "out", "absolute", "loop"}) {
        EXPECT_EQ(text_of(here.open_file(name)), std::to_string(ELOOP)) << name;
    }
}

TEST_F(DirectoryTest, HTTP_8_without_the_kernels_help_no_link_is_followed) {
    int fd = ::open(path("root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    auto text = [&](const std::string& name) {
        int opened = directory_internal::open_by_steps(fd, name);
        if (opened < 0) return std::to_string(-opened);
        return text_of(OpenedFile{File::adopt(opened), {}});
    };
    EXPECT_EQ(text("a"), "text of a");
    EXPECT_EQ(text("inner/b"), "text of b");
    EXPECT_EQ(text("inner//b"), "text of b");
    EXPECT_EQ(text("../outside/secret"), std::to_string(EXDEV));
    EXPECT_EQ(text("inner/../a"), std::to_string(EXDEV));
    EXPECT_EQ(text(path("root/a")), std::to_string(EXDEV));
    EXPECT_EQ(text("to_inner/b"), std::to_string(ENOTDIR));
    EXPECT_EQ(text("inner/to_a"), std::to_string(ELOOP));
    EXPECT_EQ(text("out"), std::to_string(ELOOP));
    EXPECT_EQ(text("missing/b"), std::to_string(ENOENT));
    EXPECT_EQ(text("inner/"), std::to_string(EISDIR));
    env::close(fd);
}

TEST_F(DirectoryTest, HTTP_8_a_pipe_is_opened_without_waiting_and_says_what_it_is) {
    ASSERT_EQ(::mkfifo(path("root/pipe").c_str(), 0600), 0);
    Result<void> result = run([&]() -> Result<void> {
        Directory here = WEFT_TRY(Directory::open(path("root")));
        OpenedFile pipe = WEFT_TRY(here.open_file("pipe"));
        EXPECT_EQ(pipe.status.kind, FileKind::Other);
        OpenedFile inner = WEFT_TRY(here.open_file("inner"));
        EXPECT_EQ(inner.status.kind, FileKind::Directory);
        OpenedFile itself = WEFT_TRY(here.open_file(""));
        EXPECT_EQ(itself.status.kind, FileKind::Directory);
        OpenedFile file = WEFT_TRY(here.open_file("a"));
        EXPECT_EQ(file.status.kind, FileKind::Regular);
        EXPECT_EQ(file.status.size, 9U);
        return {};
    });
    EXPECT_TRUE(result);
}

TEST_F(DirectoryTest, HTTP_8_a_directory_is_listed_up_to_a_limit) {
    Directory here = root();
    EXPECT_EQ(here.list("to_inner", 10).error().native_code(), ELOOP);
    EXPECT_EQ(here.list("..", 10).error().native_code(), EXDEV);
    EXPECT_EQ(here.list("a", 10).error().native_code(), ENOTDIR);
    Result<std::vector<DirectoryEntry>> entries = here.list("inner", 10);
    ASSERT_TRUE(entries);
    std::ranges::sort(*entries, {}, &DirectoryEntry::name);
    ASSERT_EQ(entries->size(), 2U);
    EXPECT_EQ((*entries)[0].name, "b");
    EXPECT_EQ((*entries)[0].kind, FileKind::Regular);
    EXPECT_EQ((*entries)[1].kind, FileKind::Link);
    EXPECT_EQ(here.list("", 3)->size(), 3U);
}

TEST_F(DirectoryTest, HTTP_8_a_folder_that_becomes_a_link_while_it_is_opened_leads_nowhere) {
    fs::create_directory(path("root/door"));
    write("root/door/secret", "harmless");
    fs::create_symlink(path("outside"), path("root/trap"));
    Atomic<bool> stop{false};
    // The door and the trap change places all the time.
    std::thread swapper([&] {
        while (!stop.load(std::memory_order_acquire)) {
            ::renameat2(AT_FDCWD, path("root/door").c_str(), AT_FDCWD, path("root/trap").c_str(),
                        RENAME_EXCHANGE);
        }
    });
    Directory here = root();
    for (int i = 0; i < 2000; ++i) {
        for (Links links : {Links::Refuse, Links::Beneath}) {
            EXPECT_NE(text_of(here.open_file("door/secret", links)), "secret");
        }
    }
    stop.store(true, std::memory_order_release);
    swapper.join();
}

}  // namespace
}  // namespace weft
