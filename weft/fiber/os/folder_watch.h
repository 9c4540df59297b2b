// FolderWatch: notices that files change, without polling them.
//
//     SeenFile seen = see_file("app.js");
//     FolderWatch watch = WEFT_TRY(FolderWatch::open());
//     WEFT_TRY(watch.add("."));
//     while (seen.is_current()) WEFT_TRY(watch.wait());
//
// A FolderWatch tells that something has happened in its folders, but not what: a SeenFile, made
// before, is compared with the present state. As the folder is watched before the comparison, no
// change is lost between the two. Any fiber and any thread; one may add a folder while another
// waits. Not in simulation (Unavailable).
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/io.h"
#include "weft/fiber/os/file.h"

namespace weft {

// The state of the file at a path at some moment; a value.
struct SeenFile {
    std::string path;
    bool was_there = false;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::chrono::sys_time<Nanoseconds> modified{};

    // Whether the path still leads to the same unchanged file; or still to none.
    bool is_current() const;
    friend auto operator<=>(const SeenFile&, const SeenFile&) = default;
};

// From the status of the open file, taken before the file is read: so a change during the reading
// is noticed.
SeenFile seen_file(std::string path, const FileStatus& status);
// By its path; a file whose status cannot be read counts as not there.
SeenFile see_file(std::string path);

class FolderWatch {
public:
    // The error Limit: the kernel has no more watches for this user.
    static Result<FolderWatch> open();

    // Watches the files directly in the folder; a second call for the same folder does nothing. The
    // error Limit: the kernel watches no more folders for this user; the message names its setting.
    Result<void> add(const std::string& folder);
    // Waits until something has happened since the last wait, or since the folder was added.
    Result<void> wait(Deadline deadline = Deadline::never());

private:
    explicit FolderWatch(Descriptor events) : events_(std::move(events)) {}

    Descriptor events_;
};

}  // namespace weft
