// Directory: files below one place, opened by paths that cannot lead out of it.
//
//     auto root = WEFT_TRY(Directory::open("/srv/www"));
//     auto page = WEFT_TRY(root.open_file("news/today.html"));     // page.file, page.status
//
// A path is relative and names a file below the directory, even while others rename and link files
// there: neither ".." nor a symbolic link, even an absolute one, leads out. The kernel guarantees
// that (openat2); on older kernels links are not followed at all. Calls park the fiber, never its
// worker. Errors carry the kernel's code; a path that leads out gives EXDEV, a link that may not be
// followed ELOOP.
//
// Any fiber and any thread, many at once. A simulated machine has a disk in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/os/file.h"

namespace weft {

// Symbolic links on a path: Refuse allows none, Beneath those that stay below the directory.
enum class Links : std::uint8_t { Refuse, Beneath };

// A file opened for reading. A named pipe or a device is opened without waiting for its other side.
struct OpenedFile {
    File file;
    FileStatus status;
};

class Directory {
public:
    static Result<Directory> open(const std::string& path, Deadline deadline = Deadline::never());

    // "" and "." are the directory itself. A directory can be opened; it cannot be read, but has a
    // status.
    Result<OpenedFile> open_file(const std::string& path, Links links = Links::Refuse,
                                 Deadline deadline = Deadline::never()) const;
    // In no order, without "." and ".."; at most `entries_max` of them.
    Result<std::vector<DirectoryEntry>> list(const std::string& path, std::size_t entries_max,
                                             Links links = Links::Refuse,
                                             Deadline deadline = Deadline::never()) const;

private:
    explicit Directory(File file) : file_(std::move(file)) {}

    File file_;
};

namespace directory_internal {

// A descriptor or -errno; on the calling thread. The first uses openat2, the second opens one
// folder of the path after the other.
int open_beneath(int directory, const char* path, Links links);
int open_by_steps(int directory, const std::string& path);

}  // namespace directory_internal
}  // namespace weft
