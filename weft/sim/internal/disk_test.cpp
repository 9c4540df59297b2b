#include "weft/sim/internal/disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/fiber/os/directory.h"
#include "weft/fiber/os/file.h"
#include "weft/fiber/os/process.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"

namespace weft::sim {
namespace {

using ::testing::HasSubstr;

// In a fiber, under a few seeds.
void simulate(const std::function<Result<void>()>& body) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Report report = run({.seed = seed}, [&] {
            Runtime runtime({.workers = 2});
            Result<void> outcome = runtime.spawn([&] { return body(); }).join();
            if (!outcome) fail(outcome.error().message());
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
}

template <class T>
void require_errno(const Result<T>& result, int code) {
    require(!result && result.error().native_code() == code, "another error was expected");
}

Result<std::string> read_whole(const std::string& path) {
    File file = WEFT_TRY(File::open(path));
    std::string text;
    std::byte space[5];
    for (;;) {
        std::size_t count = WEFT_TRY(file.read(space));
        if (count == 0) return text;
        text += as_text(Bytes(space).first(count));
    }
}

Result<void> write_whole(const std::string& path, std::string_view text) {
    File file = WEFT_TRY(File::open(path, {.write = true, .create = true, .truncate = true}));
    WEFT_TRY(file.write_all(as_bytes(text)));
    WEFT_TRY(file.sync());
    return file.close();
}

TEST(SimDisk, SIM_4i_files_are_written_and_read) {
    simulate([]() -> Result<void> {
        WEFT_TRY(write_whole("/tmp/notes", "hello disk"));
        require(WEFT_TRY(read_whole("tmp/notes")) == "hello disk", "other bytes came back");
        FileStatus status = WEFT_TRY(files::status("/tmp/notes"));
        require(status.size == 10 && status.kind == FileKind::Regular, "another status");
        File file = WEFT_TRY(File::open("/tmp/notes", {.write = true, .append = true}));
        WEFT_TRY(file.write_all(as_bytes("!")));
        std::byte byte[1];
        require(WEFT_TRY(file.read_at(10, byte)) == 1 && byte[0] == std::byte{'!'}, "no append");
        require_errno(File::open("/tmp/nothing"), ENOENT);
        require_errno(File::open("/no/folder", {.write = true, .create = true}), ENOENT);
        require_errno(File::open("/tmp/notes", {.write = true, .create = true, .exclusive = true}),
                      EEXIST);
        return {};
    });
    EXPECT_NE(::access("/tmp/notes", F_OK), 0);  // nothing of it is real
}

TEST(SimDisk, SIM_4i_folders_are_made_listed_renamed_and_removed) {
    simulate([]() -> Result<void> {
        WEFT_TRY(files::make_directory("/data"));
        WEFT_TRY(files::make_directory("/data/sub"));
        WEFT_TRY(write_whole("/data/b", "b"));
        WEFT_TRY(write_whole("/data/sub/c", "c"));
        std::vector<DirectoryEntry> entries = WEFT_TRY(files::list_directory("/data"));
        require(entries.size() == 2 && entries[0].name == "b" && entries[1].name == "sub" &&
                    entries[1].kind == FileKind::Directory,
                "another list");
        require_errno(files::remove_directory("/data"), ENOTEMPTY);
        WEFT_TRY(files::rename("/data", "/moved"));
        require(WEFT_TRY(read_whole("/moved/sub/c")) == "c", "a file did not come along");
        require_errno(files::status("/data"), ENOENT);
        WEFT_TRY(files::rename("/moved/b", "/moved/sub/c"));
        require(WEFT_TRY(read_whole("/moved/sub/c")) == "b", "nothing was replaced");
        WEFT_TRY(files::remove("/moved/sub/c"));
        WEFT_TRY(files::remove_directory("/moved/sub"));
        WEFT_TRY(files::remove_directory("/moved"));
        return {};
    });
}

TEST(SimDisk, SIM_4i_an_open_folder_is_not_left) {
    simulate([]() -> Result<void> {
        WEFT_TRY(files::make_directory("/site"));
        WEFT_TRY(write_whole("/site/page", "hi"));
        WEFT_TRY(write_whole("/secret", "no"));
        Directory site = WEFT_TRY(Directory::open("/site"));
        OpenedFile page = WEFT_TRY(site.open_file("page", Links::Refuse));
        require(page.status.size == 2, "another status");
        require_errno(site.open_file("../secret", Links::Refuse), EXDEV);
        require_errno(site.open_file("/secret", Links::Refuse), EXDEV);
        require(WEFT_TRY(site.list("", 10, Links::Refuse)).size() == 1, "another list");
        return {};
    });
}

TEST(SimDisk, SIM_4i_two_writers_are_interleaved_by_the_seed) {
    std::map<std::string, int> outcomes;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Report report = run({.seed = seed}, [&] {
            Runtime runtime({.workers = 2});
            auto increment = []() -> Result<void> {
                std::string before = WEFT_TRY(read_whole("/tmp/count"));
                return write_whole("/tmp/count", before + "+");
            };
            auto begin = [] { return write_whole("/tmp/count", ""); };
            require(runtime.spawn(begin).join().has_value(), "no file");
            Future<void> one = runtime.spawn(increment);
            Future<void> two = runtime.spawn(increment);
            require(one.join().has_value() && two.join().has_value(), "a fiber failed");
            Result<std::string> count =
                runtime.spawn([] { return read_whole("/tmp/count"); }).join();
            ++outcomes[count.value_or("?")];
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
    EXPECT_GT(outcomes["+"], 0);  // a lost update
    EXPECT_GT(outcomes["++"], 0);
}

TEST(SimDisk, SIM_4i_there_are_no_processes_and_that_is_said) {
    simulate([]() -> Result<void> {
        Result<Process> process = Process::spawn({.arguments = {"true"}});
        require(!process && process.error().kind() == ErrorKind::Unavailable, "there is a process");
        require(process.error().message().find("simulated machine has no processes") !=
                    std::string::npos,
                "it does not say why");
        return {};
    });
}

}  // namespace
}  // namespace weft::sim
