#include "weft/app/watch.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/app/terminal.h"
#include "weft/async/group.h"
#include "weft/base/format.h"
#include "weft/fiber/fiber.h"

namespace weft::app {
namespace {

std::string folder_of(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
}

// The folders to watch: those of existing files, and those of files that were looked up and did not
// exist. The latter only below a folder with files, because a package.json is looked up in every
// folder up to the root.
std::set<std::string> folders_of(const std::vector<SeenFile>& files) {
    std::set<std::string> folders;
    for (const SeenFile& file : files)
        if (file.was_there) folders.insert(folder_of(file.path));
    std::set<std::string> further;
    for (const SeenFile& file : files) {
        std::error_code ignored;
        std::string folder = folder_of(file.path);
        bool below = std::ranges::any_of(
            folders, [&](const std::string& known) { return folder.starts_with(known + "/"); });
        // If no file exists, the entry itself was removed.
        if (!file.was_there && (below || folders.empty()) &&
            std::filesystem::is_directory(folder, ignored))
            further.insert(std::move(folder));
    }
    folders.merge(further);
    return folders;
}

bool is_timeout(const Result<void>& waited) {
    return !waited && waited.error().kind() == ErrorKind::TimedOut;
}

}  // namespace

Watch::Watch(AppHost& host, WatchOptions options)
    : host_(host), options_(std::move(options)), changed_(std::make_shared<Event>()) {
    host_.on_files([changed = changed_] { changed->set(); });
}

Result<void> Watch::run() {
    Result<FolderWatch> opened = options_.open();
    if (opened)
        folders_.emplace(std::move(*opened));
    else
        check_at_intervals(opened.error());
    async::Group reader;  // ends with this block
    if (folders_) {
        WEFT_TRY(reader.go([this]() -> Result<void> {
            for (;;) {
                WEFT_TRY(folders_->wait());
                changed_->set();
            }
        }));
    }
    for (;;) {
        WEFT_TRY(wait_for_change());
        WEFT_TRY(wait_until_quiet());
        reload();
    }
}

Result<void> Watch::wait_for_change() {
    for (;;) {
        changed_->reset();
        std::vector<SeenFile> files = host_.files();
        bool at_intervals = !folders_ || !watch_folders(files);
        // Checked after the folders are watched: later changes set changed_.
        if (!std::ranges::all_of(files, &SeenFile::is_current)) return {};
        if (!at_intervals) {
            WEFT_TRY(changed_->wait());
            // A busy folder causes many notifications about other files.
            WEFT_TRY(sleep_for(options_.gather));
            continue;
        }
        Result<void> waited = changed_->wait_for(options_.check_interval);
        if (!waited && !is_timeout(waited)) return waited;
    }
}

Result<void> Watch::wait_until_quiet() {
    Deadline end = Deadline::after(options_.quiet_wait_max);
    while (!end.expired(Clock::now())) {
        changed_->reset();
        Result<void> waited = changed_->wait_for(options_.quiet);
        if (is_timeout(waited)) return {};
        WEFT_TRY(waited);
    }
    return {};
}

// False: the kernel does not watch all of them. Called before each wait, because a folder that was
// removed and made again is no longer watched.
bool Watch::watch_folders(const std::vector<SeenFile>& files) {
    for (std::string folder : folders_of(files)) {
        // If the folder does not exist, its creation is a change of the folder above.
        Result<void> added = folders_->add(folder);
        while (!added && added.error().kind() == ErrorKind::NotFound && folder != "/") {
            folder = folder_of(folder);
            added = folders_->add(folder);
        }
        if (added) continue;
        check_at_intervals(added.error());
        return false;
    }
    return true;
}

void Watch::check_at_intervals(const Error& error) {
    if (std::exchange(reason_written_, true)) return;
    complain(format(
        "{}: the files are looked at every {} ms instead", error.message(),
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.check_interval).count()));
}

void Watch::reload() {
    Result<void> reloaded = host_.reload();
    if (reloaded)
        write_line(Stream::Out, "weft has loaded the application anew");
    else
        complain(reloaded.error().message());
}

}  // namespace weft::app
