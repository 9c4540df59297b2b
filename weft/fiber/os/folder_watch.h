// Seeing that files change, without looking at them again and again.
//
//     SeenFile seen = see_file("app.js");
//     FolderWatch watch = WEFT_TRY(FolderWatch::open());
//     WEFT_TRY(watch.add("."));
//     while (seen.is_current()) WEFT_TRY(watch.wait());
//
// A FolderWatch tells that something has happened in its folders, and not what: whoever has seen a
// file before compares. As the folder is watched before the comparison, no change is lost between
// the two. Any fiber and any thread; one may add a folder while another waits. Not in simulation
// (Unavailable).
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/io.h"
#include "weft/fiber/os/file.h"

namespace weft {

// What a path led to when somebody looked; a value.
struct SeenFile {
    std::string path;
    bool was_there = false;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::chrono::sys_time<Nanoseconds> modified{};

    // The path still leads to the same file, unchanged; or still to none.
    bool is_current() const;
    friend auto operator<=>(const SeenFile&, const SeenFile&) = default;
};

// With the status of the open file, before it is read: a change meanwhile is a change.
SeenFile seen_file(std::string path, const FileStatus& status);
// By its path; one that cannot be looked at is not there.
SeenFile see_file(std::string path);

class FolderWatch {
public:
    // Limit: the kernel has no more of them for this user.
    static Result<FolderWatch> open();

    // Of files that lie in the folder itself; again for the same folder does nothing. Limit: the
    // kernel watches no more folders for this user, and the message names its setting.
    Result<void> add(const std::string& folder);
    // Until something has happened since the last wait, or since the folder was added.
    Result<void> wait(Deadline deadline = Deadline::never());

private:
    explicit FolderWatch(Descriptor events) : events_(std::move(events)) {}

    Descriptor events_;
};

}  // namespace weft
