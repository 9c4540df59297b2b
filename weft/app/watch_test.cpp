#include "weft/app/watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "weft/async/group.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"

namespace weft::app {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// A fake host, whose application is one file.
class FileHost final : public AppHost {
public:
    explicit FileHost(std::string path) : path_(std::move(path)), seen_{see_file(path_)} {}

    Result<std::vector<net::Address>> start(const ServeConfig&) override { return {}; }
    Result<void> serve() override { return {}; }
    void drain() override {}
    void close_debugger() override {}
    std::vector<SeenFile> files() const override { return seen_; }
    void on_files(std::function<void()> call) override { tell_ = std::move(call); }
    Result<void> reload() override {
        seen_ = {see_file(path_)};
        return reloads.send(0);
    }
    Result<int> run(const ScriptConfig&) override { return 0; }
    Result<int> debug(const ScriptConfig&, std::function<void(std::string_view)>,
                      std::function<Result<int>(DebugTarget&)>) override {
        return 0;
    }
    Result<void> check(const ScriptConfig&) override { return {}; }
    Result<void> test(const TestFile&) override { return {}; }

    // As after a dynamic import.
    void sees(const std::string& path) {
        seen_.push_back(see_file(path));
        tell_();
    }

    Channel<int> reloads{100};

private:
    std::string path_;
    std::vector<SeenFile> seen_;
    std::function<void()> tell_;
};

class WatchTest : public ::testing::Test {
protected:
    WatchTest() {
        std::string pattern = (fs::temp_directory_path() / "weft-watch.XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        fs::create_directory(folder_ / "a");
        fs::create_directory(folder_ / "b");
        write("a/app.js", "1");
    }
    ~WatchTest() override { fs::remove_all(folder_); }

    void write(const char* name, const std::string& text) const {
        // Replaces the file in one step: truncating it first would be one more change.
        std::ofstream(folder_ / name, std::ios::app).close();
        std::fstream(folder_ / name) << text;
    }
    std::string path(const char* name) const { return (folder_ / name).string(); }

    // Runs the steps while the file is being watched.
    template <class Steps>
    void watched(WatchOptions options, Steps steps) {
        Runtime runtime({.workers = 1});
        auto outcome = runtime.spawn([&]() -> Result<void> {
            FileHost host(path("a/app.js"));
            Watch watch(host, std::move(options));
            async::Group watcher;
            WEFT_TRY(watcher.go([&] { return watch.run(); }));
            return steps(host);
        });
        Result<void> ended = outcome.join();
        EXPECT_TRUE(ended) << ended.error().message();
    }

    fs::path folder_;
};

TEST_F(WatchTest, HST_5_each_change_loads_anew) {
    watched({}, [&](FileHost& host) -> Result<void> {
        for (const char* text : {"12", "123", "1234"}) {
            write("a/app.js", text);
            WEFT_TRY(host.reloads.receive());
        }
        fs::rename(path("a"), path("c"));
        WEFT_TRY(host.reloads.receive());
        fs::rename(path("c"), path("a"));
        WEFT_TRY(host.reloads.receive());
        return {};
    });
}

TEST_F(WatchTest, HST_5_a_file_that_is_imported_late_is_watched_too) {
    write("b/late.js", "1");
    watched({}, [&](FileHost& host) -> Result<void> {
        host.sees(path("b/late.js"));
        write("b/late.js", "12");
        WEFT_TRY(host.reloads.receive());
        return {};
    });
}

TEST_F(WatchTest, HST_5_without_watches_of_the_kernel_the_files_are_looked_at) {
    WatchOptions options{.check_interval = 5ms, .open = []() -> Result<FolderWatch> {
                             return Error(ErrorKind::Limit, "there are no more");
                         }};
    ::testing::internal::CaptureStderr();
    watched(std::move(options), [&](FileHost& host) -> Result<void> {
        write("a/app.js", "12");
        WEFT_TRY(host.reloads.receive());
        write("a/app.js", "123");
        WEFT_TRY(host.reloads.receive());
        return {};
    });
    std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("there are no more: the files are looked at every 5 ms"), std::string::npos)
        << said;
}

}  // namespace
}  // namespace weft::app
