#include "weft/api/application/disk_code_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weft::api {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

class DiskCodeStoreTest : public ::testing::Test {
protected:
    DiskCodeStoreTest()
        : root_(fs::path(::testing::TempDir()) / ("weft_code_store." + std::to_string(::getpid()))),
          folder_(root_ / "a" / "code") {
        fs::remove_all(root_);
        fs::create_directories(root_);
    }
    ~DiskCodeStoreTest() override { fs::remove_all(root_); }

    static js::CodeOrigin origin() {
        return {"V8 of the test", js::CodeKind::Module, "/app.js", "source"};
    }
    static std::vector<std::byte> code(std::size_t bytes = 1000, unsigned fill = 7) {
        return std::vector<std::byte>(bytes, std::byte(fill));
    }
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
        return found;
    }
    // Writes one file and gives its path.
    fs::path written() {
        EXPECT_TRUE(store_.write(key_, code()));
        return files().at(0);
    }
    static void change(const fs::path& path, std::streamoff at) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(at);
        int octet = file.get();
        file.seekp(at);
        file.put(static_cast<char>(octet ^ 1));
    }
    static mode_t mode_of(const fs::path& path) {
        struct stat status{};
        EXPECT_EQ(::stat(path.c_str(), &status), 0);
        return status.st_mode & 07777U;
    }

    const fs::path root_;
    const fs::path folder_;
    DiskCodeStore store_{folder_.string()};
    const js::CodeKey key_ = store_.key_of(origin());
};

TEST_F(DiskCodeStoreTest, JS_14_what_was_written_is_read_by_the_next) {
    EXPECT_THAT(store_.read(key_), IsEmpty());
    ASSERT_TRUE(store_.write(key_, code()));
    DiskCodeStore next(folder_.string());
    EXPECT_EQ(next.read(next.key_of(origin())), code());
    ASSERT_TRUE(next.write(key_, code(10)));
    EXPECT_EQ(store_.read(key_), code(10));
    EXPECT_THAT(files(), SizeIs(1)) << "nothing is left beside it";
}

TEST_F(DiskCodeStoreTest, JS_14_everything_that_the_code_depends_on_is_in_its_key) {
    js::CodeOrigin other = origin();
    other.engine = "another V8";
    EXPECT_NE(store_.key_of(other), key_);
    other = origin();
    other.kind = js::CodeKind::CommonJs;
    EXPECT_NE(store_.key_of(other), key_);
    other = origin();
    other.path = "/other.js";
    EXPECT_NE(store_.key_of(other), key_);
    other = origin();
    other.source = "sourcE";
    EXPECT_NE(store_.key_of(other), key_);
    EXPECT_EQ(store_.key_of(origin()), key_);
}

TEST_F(DiskCodeStoreTest, JS_14_files_belong_to_the_user_alone) {
    mode_t mask = ::umask(0);
    fs::path file = written();
    ::umask(mask);
    EXPECT_EQ(mode_of(root_ / "a"), 0700U);
    EXPECT_EQ(mode_of(folder_), 0700U);
    EXPECT_EQ(mode_of(file), 0600U);
}

TEST_F(DiskCodeStoreTest, JS_14_a_file_that_was_cut_is_ignored) {
    fs::path file = written();
    for (std::uintmax_t size = fs::file_size(file); size > 0; size = size * 3 / 4) {
        fs::resize_file(file, size - 1);
        EXPECT_THAT(store_.read(key_), IsEmpty()) << size;
    }
    ASSERT_TRUE(store_.write(key_, code()));
    EXPECT_EQ(store_.read(key_), code()) << "it is replaced";
}

TEST_F(DiskCodeStoreTest, JS_14_a_file_of_which_a_byte_has_changed_is_ignored) {
    fs::path file = written();
    auto size = static_cast<std::streamoff>(fs::file_size(file));
    // In the file's magic number, the key, the checksum, the length, the code.
    for (std::streamoff at : {std::streamoff{0}, std::streamoff{8}, std::streamoff{40},
                              std::streamoff{72}, std::streamoff{80}, size - 1}) {
        ASSERT_TRUE(store_.write(key_, code()));
        change(file, at);
        EXPECT_THAT(store_.read(key_), IsEmpty()) << at;
    }
}

TEST_F(DiskCodeStoreTest, JS_14_a_file_with_the_name_of_another_is_ignored) {
    fs::path file = written();
    js::CodeOrigin other = origin();
    other.source = "changed";
    js::CodeKey other_key = store_.key_of(other);
    ASSERT_TRUE(store_.write(other_key, code(500)));
    std::vector<fs::path> both = files();
    fs::path second = both.at(0) == file ? both.at(1) : both.at(0);
    fs::copy_file(file, second, fs::copy_options::overwrite_existing);
    EXPECT_THAT(store_.read(other_key), IsEmpty());
    EXPECT_EQ(store_.read(key_), code());
}

TEST_F(DiskCodeStoreTest, JS_14_what_others_may_write_to_is_not_used) {
    fs::path file = written();
    ASSERT_EQ(::chmod(file.c_str(), 0622), 0);
    EXPECT_THAT(store_.read(key_), IsEmpty());
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
    EXPECT_THAT(store_.read(key_), IsEmpty());
    EXPECT_FALSE(store_.write(key_, code()));
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    EXPECT_EQ(store_.read(key_), code());
}

TEST_F(DiskCodeStoreTest, JS_14_a_folder_of_another_user_is_not_used) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
    fs::path file = written();
    constexpr uid_t nobody = 65534;
    ASSERT_EQ(::chown(file.c_str(), nobody, nobody), 0);
    EXPECT_THAT(store_.read(key_), IsEmpty());
    ASSERT_TRUE(store_.write(key_, code()));
    ASSERT_EQ(::chown(folder_.c_str(), nobody, nobody), 0);
    EXPECT_THAT(store_.read(key_), IsEmpty());
    EXPECT_FALSE(store_.write(key_, code()));
}

TEST_F(DiskCodeStoreTest, JS_14_links_are_not_followed) {
    fs::path file = written();
    fs::rename(file, root_ / "elsewhere");
    fs::create_symlink(root_ / "elsewhere", file);
    EXPECT_THAT(store_.read(key_), IsEmpty());
    ASSERT_TRUE(store_.write(key_, code(10)));
    EXPECT_FALSE(fs::is_symlink(file));
    fs::rename(folder_, root_ / "folder");
    fs::create_directory_symlink(root_ / "folder", folder_);
    EXPECT_THAT(store_.read(key_), IsEmpty());
}

TEST_F(DiskCodeStoreTest, JS_14_a_place_where_nothing_can_be_written_is_no_error) {
    std::ofstream(root_ / "file") << "no folder";
    DiskCodeStore store((root_ / "file" / "code").string());
    EXPECT_FALSE(store.write(key_, code()));
    EXPECT_THAT(store.read(key_), IsEmpty());
    DiskCodeStore none("");
    EXPECT_FALSE(none.write(key_, code()));
    EXPECT_THAT(none.read(key_), IsEmpty());
}

TEST_F(DiskCodeStoreTest, JS_14_the_oldest_go_when_the_files_are_too_large) {
    constexpr std::size_t bytes = 10'000;
    DiskCodeStore small(folder_.string(), 10 * bytes);
    auto key_of = [&](unsigned number) {
        std::string source = std::to_string(number);
        js::CodeOrigin made = origin();
        made.source = source;
        return small.key_of(made);
    };
    fs::create_directories(folder_);
    ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
    std::ofstream(folder_ / "notes.txt") << "of somebody else";
    fs::last_write_time(folder_ / "notes.txt", fs::file_time_type::min());
    for (unsigned number = 0; number < 30; ++number) {
        ASSERT_TRUE(small.write(key_of(number), code(bytes, number)));
        // Later files get a newer time, whatever the resolution of the clock.
        for (const fs::path& path : files()) {
            if (path.extension() != ".code") continue;
            fs::last_write_time(path, fs::last_write_time(path) - std::chrono::minutes(1));
        }
    }
    EXPECT_EQ(small.read(key_of(29)), code(bytes, 29));
    EXPECT_THAT(small.read(key_of(0)), IsEmpty());
    std::uintmax_t sum = 0;
    for (const fs::path& path : files()) sum += fs::file_size(path);
    EXPECT_LE(sum, 11 * bytes);
    EXPECT_GE(sum, 6 * bytes);
    EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

TEST_F(DiskCodeStoreTest, JS_14_what_is_used_is_marked_as_young) {
    fs::path file = written();
    auto old = fs::last_write_time(file) - 2 * DiskCodeStore::kMarkAfter;
    fs::last_write_time(file, old);
    EXPECT_EQ(store_.read(key_), code());
    EXPECT_GT(fs::last_write_time(file), old + DiskCodeStore::kMarkAfter);
}

}  // namespace
}  // namespace weft::api
