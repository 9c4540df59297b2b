#include "weft/fiber/os/folder_watch.h"

#include <sys/inotify.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "weft/base/env.h"

namespace weft {
namespace {

// Everything that can change a file of a folder. Attributes too: some editors only change the time.
constexpr std::uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE |
                                  IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
                                  IN_ONLYDIR;

Error refused(int code, const std::string& what) {
    if (code == EMFILE)
        return Error(ErrorKind::Limit,
                     "the kernel has no more watches for this user (inotify(7): "
                     "fs.inotify.max_user_instances)");
    if (code == ENOSPC)
        return Error(ErrorKind::Limit,
                     "the kernel watches no more folders for this user (inotify(7): "
                     "fs.inotify.max_user_watches)");
    return Error::from_errno(code, what);
}

}  // namespace

bool SeenFile::is_current() const { return see_file(path) == *this; }

SeenFile seen_file(std::string path, const FileStatus& status) {
    return {std::move(path), true, status.inode, status.size, status.modified};
}

SeenFile see_file(std::string path) {
    Result<FileStatus> status = files::status(path);
    if (!status) return {.path = std::move(path)};
    return seen_file(std::move(path), *status);
}

Result<FolderWatch> FolderWatch::open() {
    if (env::current()) return Error(ErrorKind::Unavailable, "a simulated disk is not watched");
    int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return refused(errno, "inotify_init1");
    return FolderWatch(Descriptor::adopt_nonblocking(fd, Flow::Unknown));
}

Result<void> FolderWatch::add(const std::string& folder) {
    Result<long> added = events_.with_fd([&](int fd) -> long {
        int watch = ::inotify_add_watch(fd, folder.c_str(), kEvents);
        return watch < 0 ? -errno : watch;
    });
    if (!added) return refused(added.error().native_code(), "watch " + folder);
    return {};
}

Result<void> FolderWatch::wait(Deadline deadline) {
    alignas(inotify_event) std::array<std::byte, 4096> events;
    WEFT_TRY(events_.read(events, deadline));
    // Events that have come together end one wait.
    for (;;) {
        std::optional<std::size_t> more = WEFT_TRY(events_.try_read(events));
        if (!more) return {};
    }
}

}  // namespace weft
