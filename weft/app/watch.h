// Loading the applications anew when one of their files has changed.
//
// The folders of the files are watched, and a file counts as changed when it is not as it was when
// it was loaded; so a change that comes while a file is being loaded is not lost. After a reload
// that failed, the files of that attempt are watched.
//
// A fiber.
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
    // An editor writes a file in several steps: the reload comes when it has been quiet for `quiet`
    // after a change, and after `patience` however it goes on.
    Nanoseconds quiet = std::chrono::milliseconds(30);
    Nanoseconds patience = std::chrono::milliseconds(120);
    // How long news is gathered before the files are looked at.
    Nanoseconds gather = std::chrono::milliseconds(5);
    // Where the kernel watches no folders, the files are looked at from time to time.
    Nanoseconds look = std::chrono::milliseconds(500);
    std::function<Result<FolderWatch>()> open = FolderWatch::open;  // another one in tests
};

class Watch {
public:
    // Before host.start(): from then on no file is missed. The host outlives it.
    explicit Watch(AppHost& host, WatchOptions options = {});

    // After host.start(), until it is cancelled.
    Result<void> run();

private:
    Result<void> wait_for_change();
    Result<void> wait_until_quiet();
    bool watch_folders(const std::vector<SeenFile>& files);
    // Says once why folders cannot be watched.
    void look_instead(const Error& error);
    void reload();

    AppHost& host_;
    const WatchOptions options_;
    std::shared_ptr<Event> news_;         // shared with the host, which may tell to the last
    std::optional<FolderWatch> folders_;  // none: the files are looked at
    bool looks_ = false;                  // which was said
};

}  // namespace weft::app
