#include "weft/fiber/os/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "weft/base/env.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/os/file_name.h"
#include "weft/fiber/os/read_entries.h"

namespace weft {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
// While others rename folders of the path the kernel may be unable to tell whether it leads out
// (EAGAIN).
constexpr int kAttemptsMax = 16;

Result<void> check(const std::string& path) {
    if (path.find('\0') == std::string::npos) return {};
    return Error(ErrorKind::Misuse, EINVAL, "a path with a zero byte: " + path);
}

Error with_path(const Error& error, std::string_view action, const File& directory,
                const std::string& path) {
    return error.with_context(action, file_name(directory.fd()) + "/" + path);
}

int open_any_way(int directory, const std::string& path, Links links) {
    const char* name = path.empty() ? "." : path.c_str();
    int fd = directory_internal::open_beneath(directory, name, links);
    // EPERM: from a filter of system calls (seccomp) that does not know openat2.
    if (fd != -ENOSYS && fd != -EPERM) return fd;
    return directory_internal::open_by_steps(directory, path);
}

Result<File> open_simulated(EnvFiles& disk, int beneath, const std::string& path, int flags) {
    int fd = disk.open(beneath, path.empty() ? "." : path.c_str(), flags, 0);
    if (fd < 0) return Error::from_errno(-fd);
    return File::adopt(fd);
}

Result<File> open_on_thread(int directory, const std::string& path, Links links) {
    int fd = open_any_way(directory, path, links);
    if (fd < 0) return Error::from_errno(-fd);
    return File::adopt(fd);
}

Result<std::vector<DirectoryEntry>> list_on_thread(int directory, const std::string& path,
                                                   std::size_t entries_max, Links links) {
    int fd = open_any_way(directory, path, links);
    if (fd < 0) return Error::from_errno(-fd);
    auto close_stream = [](DIR* stream) { ::closedir(stream); };
    std::unique_ptr<DIR, decltype(close_stream)> stream(::fdopendir(fd));
    if (!stream) {
        int code = errno;
        env::close(fd);
        return Error::from_errno(code);
    }
    return read_entries(*stream, entries_max);
}

}  // namespace

int directory_internal::open_beneath(int directory, const char* path, Links links) {
    struct open_how how{};
    how.flags = kOpenFlags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (links == Links::Refuse) how.resolve |= RESOLVE_NO_SYMLINKS;
    for (int attempt = 1;; ++attempt) {
        long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
        if (fd >= 0) return static_cast<int>(fd);
        if (errno != EINTR && (errno != EAGAIN || attempt == kAttemptsMax)) return -errno;
    }
}

int directory_internal::open_by_steps(int directory, const std::string& path) {
    int here = directory;
    auto step_to = [&](int next) {
        int code = next < 0 ? -errno : 0;
        if (here != directory) env::close(here);
        here = next;
        return code;
    };
    if (path.starts_with('/')) return -EXDEV;
    std::string rest = path.empty() ? "." : path;
    for (;;) {
        std::size_t slash = rest.find('/');
        std::string name = rest.substr(0, slash);
        if (name == "..") {
            if (here != directory) env::close(here);
            return -EXDEV;
        }
        if (slash == std::string::npos) {
            int fd = ::openat(here, name.empty() ? "." : name.c_str(), kOpenFlags | O_NOFOLLOW);
            int code = step_to(fd);
            return code < 0 ? code : fd;
        }
        rest.erase(0, slash + 1);
        if (name.empty()) continue;
        int code =
            step_to(::openat(here, name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
        if (code < 0) return code;
    }
}

Result<Directory> Directory::open(const std::string& path, Deadline deadline) {
    WEFT_TRY(check(path));
    if (Env* simulated = env::current()) {
        return Directory(WEFT_TRY(in_context(
            open_simulated(simulated->files(), EnvFiles::kAnywhere, path, O_RDONLY | O_DIRECTORY),
            "open the directory", path)));
    }
    auto open_path = [&]() -> Result<File> {
        int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) return Error::from_errno(errno);
        return File::adopt(fd);
    };
    File file = WEFT_TRY(
        in_context(blocking(open_path, {.start_by = deadline}), "open the directory", path));
    return Directory(std::move(file));
}

Result<OpenedFile> Directory::open_file(const std::string& path, Links links,
                                        Deadline deadline) const {
    WEFT_TRY(check(path));
    if (Env* simulated = env::current()) {
        OpenedFile opened;
        opened.file = WEFT_TRY(open_simulated(simulated->files(), file_.fd(), path, O_RDONLY));
        opened.status = WEFT_TRY(opened.file.status(deadline));
        return opened;
    }
    auto open_beneath = [&]() -> Result<OpenedFile> {
        OpenedFile opened;
        opened.file = WEFT_TRY(open_on_thread(file_.fd(), path, links));
        opened.status = WEFT_TRY(opened.file.status());
        return opened;
    };
    auto opened = blocking(open_beneath, {.start_by = deadline});
    if (!opened) return with_path(opened.error(), "open", file_, path);
    return opened;
}

Result<std::vector<DirectoryEntry>> Directory::list(const std::string& path,
                                                    std::size_t entries_max, Links links,
                                                    Deadline deadline) const {
    WEFT_TRY(check(path));
    if (Env* simulated = env::current())
        return read_simulated_entries(simulated->files(), file_.fd(), path, entries_max);
    auto listed = blocking([&] { return list_on_thread(file_.fd(), path, entries_max, links); },
                           {.start_by = deadline});
    if (!listed) return with_path(listed.error(), "list", file_, path);
    return listed;
}

}  // namespace weft
