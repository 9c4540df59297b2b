// Watch: reloads the applications when one of their files has changed.
//
// The folders of the files are watched. A file has changed if its status differs from when it was
// loaded, so a change during loading is not lost. After a reload that failed, the files of that
// attempt are watched.
//
// One fiber.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "weft/app/app_host.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/os/folder_watch.h"
#include "weft/sync/event.h"

namespace weft::app {

struct WatchOptions {
    // An editor writes a file in several steps, so the reload begins when there was no change for
    // `quiet`, but at the latest after `quiet_wait_max`.
    Nanoseconds quiet = std::chrono::milliseconds(30);
    Nanoseconds quiet_wait_max = std::chrono::milliseconds(120);
    // How long to collect notifications before the files are checked.
    Nanoseconds gather = std::chrono::milliseconds(5);
    // How often the files are checked if the kernel cannot watch the folders.
    Nanoseconds check_interval = std::chrono::milliseconds(500);
    std::function<Result<FolderWatch>()> open = FolderWatch::open;  // another one in tests
};

class Watch {
public:
    // Before host.start(), so that no file is missed. The host outlives it.
    explicit Watch(AppHost& host, WatchOptions options = {});

    // After host.start(), until it is cancelled.
    Result<void> run();

private:
    Result<void> wait_for_change();
    Result<void> wait_until_quiet();
    bool watch_folders(const std::vector<SeenFile>& files);
    // The folders cannot be watched, so the files are checked at intervals. Writes the reason once.
    void check_at_intervals(const Error& error);
    void reload();

    AppHost& host_;
    const WatchOptions options_;
    std::shared_ptr<Event> changed_;      // shared with the host, which may set it after our end
    std::optional<FolderWatch> folders_;  // none: the files are checked at intervals
    bool reason_written_ = false;         // the reason for that
};

}  // namespace weft::app
