#include "weft/fiber/os/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A folder of its own for each test, gone afterwards.
class FileTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "weft-file-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }

    // On a fiber, and once more on this thread: the results are the same.
    template <class Body>
    void on_fiber_and_thread(Body body) {
        Result<void> result = run(body, {.workers = 1});
        EXPECT_TRUE(result) << "on a fiber: " << result.error().message();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directory(folder_);
        result = body();
        EXPECT_TRUE(result) << "on a thread: " << result.error().message();
    }

    std::string folder_;
};

template <class T>
int code_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? 0 : result.error().native_code();
}

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? ErrorKind::Other : result.error().kind();
}

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message();
}

TEST_F(FileTest, NET_3b_errors_have_kinds_and_name_the_file) {
    on_fiber_and_thread([this]() -> Result<void> {
        Result<File> missing = File::open(path("missing"));
        EXPECT_EQ(kind_of(missing), ErrorKind::NotFound);
        EXPECT_EQ(message_of(missing), "open " + path("missing") + ": No such file or directory");
        WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
        Result<File> again =
            File::open(path("a"), {.write = true, .create = true, .exclusive = true});
        EXPECT_EQ(kind_of(again), ErrorKind::AlreadyExists);
        EXPECT_EQ(message_of(again), "open " + path("a") + ": File exists");
        EXPECT_EQ(message_of(files::make_directory(path("a"))),
                  "make the directory " + path("a") + ": File exists");
        EXPECT_EQ(message_of(files::rename(path("x"), path("y"))),
                  "rename " + path("x") + " to " + path("y") + ": No such file or directory");
        EXPECT_EQ(message_of(files::remove(path("x"))),
                  "remove " + path("x") + ": No such file or directory");
        EXPECT_EQ(message_of(files::status(path("x"))),
                  "status of " + path("x") + ": No such file or directory");
        EXPECT_EQ(message_of(files::list_directory(path("x"))),
                  "list " + path("x") + ": No such file or directory");
        return {};
    });
}

TEST_F(FileTest, NET_3b_a_file_is_named_by_its_descriptor_too) {
    on_fiber_and_thread([this]() -> Result<void> {
        File folder = WEFT_TRY(File::open(folder_));
        std::byte buffer[8];
        EXPECT_EQ(message_of(folder.read(buffer)), "read " + folder_ + ": Is a directory");
        File file = WEFT_TRY(File::open(path("a"), {.read = false, .write = true, .create = true}));
        EXPECT_EQ(message_of(file.read(buffer)), "read " + path("a") + ": Bad file descriptor");
        return {};
    });
}

TEST_F(FileTest, NET_3b_what_is_not_allowed_is_permission_denied) {
    // Whoever tests as root may do anything, but not even root writes to this one.
    on_fiber_and_thread([]() -> Result<void> {
        Result<void> removed = files::remove("/proc/self/status");
        EXPECT_EQ(kind_of(removed), ErrorKind::PermissionDenied);
        EXPECT_TRUE(message_of(removed).starts_with("remove /proc/self/status: "))
            << message_of(removed);
        return {};
    });
}

TEST_F(FileTest, RCT_5_what_was_written_is_read) {
    on_fiber_and_thread([this]() -> Result<void> {
        File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
        WEFT_TRY(file.write_all(as_bytes("hello, ")));
        WEFT_TRY(file.write_all(as_bytes("world")));
        std::byte buffer[64];
        EXPECT_EQ(WEFT_TRY(file.read(buffer)), 0U);  // at the end
        WEFT_TRY(file.sync());
        WEFT_TRY(file.close());
        File again = WEFT_TRY(File::open(path("a")));
        std::size_t count = WEFT_TRY(again.read(std::span(buffer).first(5)));
        EXPECT_EQ(text_of(std::span(buffer, count)), "hello");
        count = WEFT_TRY(again.read(buffer));
        EXPECT_EQ(text_of(std::span(buffer, count)), ", world");
        EXPECT_EQ(WEFT_TRY(again.read(buffer)), 0U);
        EXPECT_EQ(WEFT_TRY(again.read({})), 0U);
        return {};
    });
}

TEST_F(FileTest, RCT_5_offsets_leave_the_position_alone) {
    on_fiber_and_thread([this]() -> Result<void> {
        File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
        WEFT_TRY(file.write_at(0, as_bytes("0123456789")));
        WEFT_TRY(file.write_at(4, as_bytes("xy")));
        std::byte buffer[4];
        EXPECT_EQ(WEFT_TRY(file.read_at(3, buffer)), 4U);
        EXPECT_EQ(text_of(buffer), "3xy6");
        EXPECT_EQ(WEFT_TRY(file.read(buffer)), 4U);
        EXPECT_EQ(text_of(buffer), "0123");
        EXPECT_EQ(WEFT_TRY(file.read_at(8, buffer)), 2U);
        EXPECT_EQ(WEFT_TRY(file.read_at(10, buffer)), 0U);
        EXPECT_EQ(code_of(file.read_at(UINT64_MAX, buffer)), EINVAL);
        return {};
    });
}

TEST_F(FileTest, RCT_5_options_of_open_are_honoured) {
    on_fiber_and_thread([this]() -> Result<void> {
        EXPECT_EQ(code_of(File::open(path("none"))), ENOENT);
        OpenOptions fresh{.write = true, .create = true, .exclusive = true, .permissions = 0640};
        {
            File file = WEFT_TRY(File::open(path("a"), fresh));
            WEFT_TRY(file.write_all(as_bytes("12345")));
            EXPECT_EQ(WEFT_TRY(file.status()).permissions & 0777U, 0640U);
        }
        EXPECT_EQ(code_of(File::open(path("a"), fresh)), EEXIST);
        {
            File file = WEFT_TRY(File::open(path("a"), {.read = false, .append = true}));
            WEFT_TRY(file.write_all(as_bytes("67")));
            std::byte buffer[4];
            EXPECT_EQ(code_of(file.read(buffer)), EBADF);
        }
        EXPECT_EQ(WEFT_TRY(files::status(path("a"))).size, 7U);
        File file = WEFT_TRY(File::open(path("a"), {.write = true, .truncate = true}));
        EXPECT_EQ(WEFT_TRY(file.status()).size, 0U);
        File reader = WEFT_TRY(File::open(path("a")));
        EXPECT_EQ(code_of(reader.write(as_bytes("x"))), EBADF);
        return {};
    });
}

TEST_F(FileTest, RCT_5_a_file_is_cut_off_and_filled_up) {
    on_fiber_and_thread([this]() -> Result<void> {
        File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
        WEFT_TRY(file.write_all(as_bytes("0123456789")));
        WEFT_TRY(file.resize(4));
        WEFT_TRY(file.resize(6));
        std::byte space[16];
        std::size_t count = WEFT_TRY(file.read_at(0, space));
        EXPECT_EQ(text_of(std::span(space).first(count)), std::string_view("0123\0\0", 6));
        EXPECT_EQ(kind_of(file.resize(UINT64_MAX)), ErrorKind::Misuse);
        return {};
    });
}

TEST_F(FileTest, RCT_5_status_tells_kind_size_and_time) {
    on_fiber_and_thread([this]() -> Result<void> {
        File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
        WEFT_TRY(file.write_all(as_bytes("123")));
        FileStatus by_file = WEFT_TRY(file.status());
        FileStatus by_path = WEFT_TRY(files::status(path("a")));
        EXPECT_EQ(by_file.kind, FileKind::Regular);
        EXPECT_EQ(by_file.size, 3U);
        EXPECT_EQ(by_file.inode, by_path.inode);
        EXPECT_EQ(by_file.modified, by_path.modified);
        EXPECT_GT(by_file.modified.time_since_epoch(), std::chrono::hours(24 * 365 * 50));
        EXPECT_EQ(WEFT_TRY(files::status(folder_)).kind, FileKind::Directory);
        EXPECT_EQ(WEFT_TRY(files::status("/dev/null")).kind, FileKind::Other);
        EXPECT_EQ(code_of(files::status(path("none"))), ENOENT);
        return {};
    });
}

TEST_F(FileTest, RCT_5_renaming_replaces) {
    on_fiber_and_thread([this]() -> Result<void> {
        File old_file = WEFT_TRY(File::open(path("old"), {.write = true, .create = true}));
        WEFT_TRY(old_file.write_all(as_bytes("old")));
        File new_file = WEFT_TRY(File::open(path("new"), {.write = true, .create = true}));
        WEFT_TRY(files::rename(path("old"), path("new")));
        EXPECT_EQ(WEFT_TRY(files::status(path("new"))).size, 3U);
        EXPECT_EQ(code_of(files::status(path("old"))), ENOENT);
        EXPECT_EQ(code_of(files::rename(path("old"), path("new"))), ENOENT);
        return {};
    });
}

TEST_F(FileTest, RCT_5_directories_are_made_listed_and_removed) {
    on_fiber_and_thread([this]() -> Result<void> {
        WEFT_TRY(files::make_directory(path("d")));
        EXPECT_EQ(code_of(files::make_directory(path("d"))), EEXIST);
        for (int i = 0; i < 300; ++i)
            WEFT_TRY(File::open(path("d/f" + std::to_string(i)), {.write = true, .create = true}));
        WEFT_TRY(files::make_directory(path("d/sub")));
        std::vector<DirectoryEntry> entries = WEFT_TRY(files::list_directory(path("d")));
        EXPECT_EQ(entries.size(), 301U);
        auto named = [&](std::string_view name) {
            return std::ranges::find(entries, name, &DirectoryEntry::name);
        };
        EXPECT_NE(named("f299"), entries.end());
        EXPECT_EQ(named("f299")->kind, FileKind::Regular);
        EXPECT_EQ(named("sub")->kind, FileKind::Directory);
        EXPECT_EQ(named("."), entries.end());
        EXPECT_EQ(code_of(files::remove_directory(path("d"))), ENOTEMPTY);
        EXPECT_EQ(code_of(files::list_directory(path("none"))), ENOENT);
        WEFT_TRY(files::remove_directory(path("d/sub")));
        WEFT_TRY(files::remove(path("d/f0")));
        EXPECT_EQ(code_of(files::remove(path("d/f0"))), ENOENT);
        EXPECT_EQ(WEFT_TRY(files::list_directory(path("d"))).size(), 299U);
        return {};
    });
}

TEST_F(FileTest, RCT_5_a_path_with_a_zero_byte_is_refused) {
    on_fiber_and_thread([]() -> Result<void> {
        std::string hidden("/etc/passwd\0.png", 16);
        EXPECT_EQ(kind_of(File::open(hidden)), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(files::status(hidden)), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(files::rename(hidden, "x")), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(files::rename("x", hidden)), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(files::remove(hidden)), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(files::list_directory(hidden)), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(files::make_directory(hidden)), ErrorKind::Misuse);
        return {};
    });
}

TEST_F(FileTest, RCT_5_a_closed_file_says_so) {
    on_fiber_and_thread([this]() -> Result<void> {
        File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
        WEFT_TRY(file.close());
        std::byte buffer[4];
        EXPECT_EQ(kind_of(file.read(buffer)), ErrorKind::Closed);
        EXPECT_EQ(kind_of(file.write(buffer)), ErrorKind::Closed);
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(file.status()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(file.close()), ErrorKind::Closed);
        return {};
    });
}

TEST_F(FileTest, RCT_5_out_of_descriptors_is_told) {
    on_fiber_and_thread([]() -> Result<void> {
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        rlimit few = before;
        few.rlim_cur = 3;
        ::setrlimit(RLIMIT_NOFILE, &few);
        Result<File> file = File::open("/dev/null");
        ::setrlimit(RLIMIT_NOFILE, &before);
        EXPECT_EQ(kind_of(file), ErrorKind::OutOfFds);
        return {};
    });
}

TEST_F(FileTest, RCT_5_a_cancelled_fiber_begins_nothing_but_can_close) {
    Result<void> result = run(
        [this]() -> Result<void> {
            File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
            int number = file.fd();
            CancelSource source;
            source.cancel();
            CancelScope scope(source.token());
            EXPECT_EQ(kind_of(file.write(as_bytes("x"))), ErrorKind::Cancelled);
            EXPECT_EQ(kind_of(files::status(path("a"))), ErrorKind::Cancelled);
            WEFT_TRY(file.close());
            EXPECT_EQ(::fcntl(number, F_GETFD), -1);
            return {};
        },
        {.workers = 1});
    EXPECT_TRUE(result) << result.error().message();
}

TEST_F(FileTest, RCT_5_a_read_that_waits_ends_at_its_deadline_where_the_kernel_can) {
    // A named pipe without a writer is the slowest of files.
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    Result<void> result = run(
        [this]() -> Result<void> {
            File fifo = WEFT_TRY(File::open(path("fifo"), {.write = true}));  // does not wait
            std::byte buffer[4];
            auto reader =
                spawn([&] { return fifo.read(buffer, Deadline::after(milliseconds(5))); });
            Result<std::size_t> count = reader.join(Deadline::after(milliseconds(200)));
            // A thread of the pool cannot be interrupted: then the read ends when there are bytes.
            if (!count && reader) {
                EXPECT_EQ(::write(fifo.fd(), "late", 4), 4);
                Result<std::size_t> late = reader.join();
                // It was about to end when the join gave up.
                EXPECT_TRUE(late ? *late == 4U : late.error().kind() == ErrorKind::TimedOut);
            } else {
                EXPECT_EQ(kind_of(count), ErrorKind::TimedOut);
            }
            return {};
        },
        {.workers = 1});
    EXPECT_TRUE(result) << result.error().message();
}

TEST_F(FileTest, RCT_5_cancelling_at_any_moment_is_safe) {
    Result<void> result = run(
        [this]() -> Result<void> {
            File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
            std::string block(4096, 'x');
            WEFT_TRY(file.write_all(as_bytes(block)));
            for (int round = 0; round < 500; ++round) {
                CancelSource source;
                auto job = spawn([&]() -> Result<std::size_t> {
                    CancelScope scope(source.token());
                    std::byte buffer[4096];  // lent to the kernel
                    return file.read_at(0, buffer);
                });
                for (int i = round % 16; i > 0; --i) yield();
                source.cancel();
                Result<std::size_t> count = job.join();
                EXPECT_TRUE(count ? *count == 4096 : count.error().kind() == ErrorKind::Cancelled);
            }
            return {};
        },
        {.workers = 2});
    EXPECT_TRUE(result) << result.error().message();
}

TEST_F(FileTest, RCT_5_many_fibers_read_one_file_at_once) {
    Result<void> result = run(
        [this]() -> Result<void> {
            File file = WEFT_TRY(File::open(path("a"), {.write = true, .create = true}));
            constexpr std::size_t count = 1000;
            for (std::size_t i = 0; i < count; ++i) {
                std::string block(16, static_cast<char>('a' + i % 26));
                WEFT_TRY(file.write_at(i * 16, as_bytes(block)));
            }
            std::vector<Future<bool>> readers;
            for (std::size_t i = 0; i < count; ++i) {
                readers.push_back(spawn([&file, i]() -> Result<bool> {
                    std::byte buffer[16];
                    std::size_t size = WEFT_TRY(file.read_at(i * 16, buffer));
                    std::string expected(16, static_cast<char>('a' + i % 26));
                    return size == 16 && text_of(buffer) == expected;
                }));
            }
            for (Future<bool>& reader : readers) EXPECT_TRUE(WEFT_TRY(reader.join()));
            return {};
        },
        {.workers = 2});
    EXPECT_TRUE(result) << result.error().message();
}

TEST_F(FileTest, RCT_5_the_worker_goes_on_meanwhile) {
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    Result<void> result = run(
        [this]() -> Result<void> {
            // Opening a named pipe waits for the other side, on the one worker that there is.
            auto reader = spawn([this] { return File::open(path("fifo")); });
            auto writer =
                spawn([this] { return File::open(path("fifo"), {.read = false, .write = true}); });
            File to = WEFT_TRY(writer.join());
            File from = WEFT_TRY(reader.join());
            std::byte buffer[8];
            auto waiting = spawn([&] { return from.read(buffer); });
            yield();
            WEFT_TRY(to.write_all(as_bytes("hello")));
            EXPECT_EQ(WEFT_TRY(waiting.join()), 5U);
            return {};
        },
        {.workers = 1});
    EXPECT_TRUE(result) << result.error().message();
}

// True if the call has let another fiber of the only worker run before it returned, so has parked.
// The only thread of the blocking pool is held until then: a quick one could end before the fiber
// comes to wait for it.
template <class Call>
bool parks(Call call) {
    const Counter& jobs = this_worker()->scheduler().blocking().counters().jobs;
    std::uint64_t before = jobs.value();
    std::binary_semaphore go_on(0);
    auto holder = spawn([&] { return blocking([&] { go_on.acquire(); }); });
    while (jobs.value() == before) yield();
    bool other_ran = false;
    auto other = spawn([&] {
        other_ran = true;
        go_on.release();
    });
    auto result = call();
    EXPECT_TRUE(result) << result.error().message();
    bool ran_meanwhile = other_ran;
    EXPECT_TRUE(other.join());
    EXPECT_TRUE(holder.join());
    return ran_meanwhile;
}

// True if the call was a job of the blocking pool.
template <class Call>
bool takes_a_thread(Call call) {
    const Counter& jobs = this_worker()->scheduler().blocking().counters().jobs;
    std::uint64_t before = jobs.value();
    auto result = call();
    EXPECT_TRUE(result) << result.error().message();
    return jobs.value() != before;
}

constexpr int kChances = 100;

// The ring may have done a call by the time that the fiber comes to wait for it, and then there is
// nothing to park for: each call has many chances to take longer.
template <class Call>
bool parks_sooner_or_later(Call call) {
    for (int chance = 0; chance < kChances; ++chance) {
        if (parks(call)) return true;
    }
    return false;
}

TEST_F(FileTest, RCT_5a_open_read_and_write_park_the_fiber) {
    Result<void> result = run(
        [this]() -> Result<void> {
            OpenOptions fresh{.write = true, .create = true};
            EXPECT_TRUE(parks_sooner_or_later([&] { return File::open(path("a"), fresh); }));
            File file = WEFT_TRY(File::open(path("a"), fresh));
            std::byte buffer[4];
            EXPECT_TRUE(parks_sooner_or_later([&] { return file.write_at(0, as_bytes("text")); }));
            EXPECT_TRUE(parks_sooner_or_later([&] { return file.read_at(0, buffer); }));
            return {};
        },
        {.workers = 1, .blocking_threads = 1});
    EXPECT_TRUE(result) << result.error().message();
}

TEST_F(FileTest, RCT_5b_fsync_stat_and_rename_park_the_fiber) {
    Result<void> result = run(
        [this]() -> Result<void> {
            OpenOptions fresh{.write = true, .create = true};
            File file = WEFT_TRY(File::open(path("a"), fresh));
            EXPECT_TRUE(parks_sooner_or_later([&] { return file.sync(); }));
            EXPECT_TRUE(parks_sooner_or_later([&] { return file.status(); }));
            EXPECT_TRUE(parks_sooner_or_later([&] { return files::status(path("a")); }));
            std::string from = path("b");
            std::string to = path("a");
            EXPECT_TRUE(parks_sooner_or_later([&] {
                std::swap(from, to);
                return files::rename(from, to);
            }));
            auto numbered = [this](int number) { return path(std::to_string(number)); };
            for (int i = 0; i < kChances; ++i) WEFT_TRY(File::open(numbered(i), fresh));
            int removed = 0;
            EXPECT_TRUE(parks_sooner_or_later([&] { return files::remove(numbered(removed++)); }));
            return {};
        },
        {.workers = 1, .blocking_threads = 1});
    EXPECT_TRUE(result) << result.error().message();
}

TEST_F(FileTest, RCT_5c_listing_a_directory_parks_the_fiber) {
    Result<void> result = run(
        [this]() -> Result<void> {
            int made = 0;
            EXPECT_TRUE(parks_sooner_or_later(
                [&] { return files::make_directory(path(std::to_string(made++))); }));
            EXPECT_TRUE(parks_sooner_or_later([&] { return files::list_directory(path("0")); }));
            return {};
        },
        {.workers = 1, .blocking_threads = 1});
    EXPECT_TRUE(result) << result.error().message();
}

TEST_F(FileTest, RCT_5d_files_go_through_the_ring_and_elsewhere_through_the_pool) {
    Result<void> result = run(
        [this]() -> Result<void> {
            bool has_ring = std::string_view(this_worker()->reactor().name()) != "epoll";
            OpenOptions fresh{.write = true, .create = true};
            File file = WEFT_TRY(File::open(path("a"), fresh));
            std::byte buffer[4];
            EXPECT_NE(takes_a_thread([&] { return File::open(path("a"), fresh); }), has_ring);
            EXPECT_NE(takes_a_thread([&] { return file.write_at(0, as_bytes("x")); }), has_ring);
            EXPECT_NE(takes_a_thread([&] { return file.read_at(0, buffer); }), has_ring);
            EXPECT_NE(takes_a_thread([&] { return file.sync(); }), has_ring);
            EXPECT_NE(takes_a_thread([&] { return file.status(); }), has_ring);
            EXPECT_NE(takes_a_thread([&] { return files::status(path("a")); }), has_ring);
            EXPECT_NE(takes_a_thread([&] { return files::rename(path("a"), path("b")); }),
                      has_ring);
            EXPECT_NE(takes_a_thread([&] { return files::remove(path("b")); }), has_ring);
            // The ring has no request for these.
            EXPECT_TRUE(takes_a_thread([&] { return files::make_directory(path("d")); }));
            EXPECT_TRUE(takes_a_thread([&] { return files::list_directory(path("d")); }));
            return {};
        },
        {.workers = 1, .blocking_threads = 1});
    EXPECT_TRUE(result) << result.error().message();
}

}  // namespace
}  // namespace weft
