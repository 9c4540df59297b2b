#include "weft/fiber/os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/env_files.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io/file_request.h"
#include "weft/fiber/os/file_name.h"
#include "weft/fiber/os/read_entries.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {
namespace {

using Operation = FileRequest::Operation;

// The kernel moves no more than this at once, and the length of a request has 32 bits.
constexpr std::size_t kTransferBytesMax = 0x7ffff000;

// Performs the request on the calling thread. A count, a descriptor or 0; or -errno.
[[gnu::noinline]] long call_kernel(const FileRequest& request) {
    for (;;) {
        long result = -1;
        switch (request.operation) {
        case Operation::Open:
            result = ::open(request.path, request.flags, request.permissions);
            break;
        case Operation::Read:
            result = request.offset == FileRequest::kPosition
                         ? ::read(request.fd, request.buffer, request.size)
                         : ::pread(request.fd, request.buffer, request.size, request.offset);
            break;
        case Operation::Write:
            result = request.offset == FileRequest::kPosition
                         ? ::write(request.fd, request.buffer, request.size)
                         : ::pwrite(request.fd, request.buffer, request.size, request.offset);
            break;
        case Operation::Resize: result = ::ftruncate(request.fd, request.offset); break;
        case Operation::Sync: result = ::fsync(request.fd); break;
        case Operation::Status:
            result = ::statx(request.path ? AT_FDCWD : request.fd, request.path ? request.path : "",
                             request.path ? 0 : AT_EMPTY_PATH, STATX_BASIC_STATS, request.status);
            break;
        case Operation::Rename: result = ::rename(request.path, request.target_path); break;
        case Operation::Remove: result = ::unlinkat(AT_FDCWD, request.path, request.flags); break;
        case Operation::Close:
            return env::close(request.fd);  // not again, even if it was interrupted
        }
        if (result >= 0) return result;
        if (errno != EINTR) return -errno;
    }
}

// The same on the disk of a simulated machine.
long call_disk(EnvFiles& disk, const FileRequest& request) {
    switch (request.operation) {
    case Operation::Open:
        return disk.open(EnvFiles::kAnywhere, request.path, request.flags, request.permissions);
    case Operation::Read:
        return disk.read_at(request.fd, request.buffer, request.size, request.offset);
    case Operation::Write:
        return disk.write_at(request.fd, request.buffer, request.size, request.offset);
    case Operation::Resize: return disk.resize(request.fd, request.offset);
    case Operation::Sync: return disk.sync(request.fd);
    case Operation::Status: return disk.status(request.fd, request.path, *request.status);
    case Operation::Rename: return disk.rename(request.path, request.target_path);
    case Operation::Remove: return disk.remove(request.path, request.flags);
    case Operation::Close: return env::close(request.fd);
    }
    WEFT_UNREACHABLE();
}

// The result of the request; if it was ended early, the reason.
Result<long> outcome(long result, const Result<void>& waited) {
    if (result >= 0) return result;
    if (!waited && (result == -ECANCELED || result == -EINTR)) return waited.error();
    return Error::from_errno(static_cast<int>(-result));
}

// False if the reactor of this worker does not take requests.
bool perform_by_reactor(FileRequest& request, Deadline deadline, Result<void>& waited) {
    Reactor& reactor = this_worker()->reactor();
    WEFT_DASSERT(!request.taken, "a request is submitted once");
    request.taken = reactor.submit(request);
    if (!request.taken) return false;
    if (request.operation == Operation::Close) {
        request.ended.wait_to_the_end(WaitReason::File, &request);
        return true;
    }
    waited = request.ended.wait(WaitReason::File, &request, deadline, nullptr, [&] {
        reactor.cancel(request);
        return false;
    });
    return true;
}

Result<long> carry_out(FileRequest& request, Deadline deadline) {
    Worker* worker = this_worker();
    bool in_fiber = worker && worker->current();
    Env* simulated = env::current();
    if (!in_fiber && !simulated) return outcome(call_kernel(request), {});
    if (request.operation != Operation::Close) WEFT_TRY(CancelToken::current().check());
    if (simulated) return outcome(call_disk(simulated->files(), request), {});
    Result<void> waited;
    if (perform_by_reactor(request, deadline, waited)) return outcome(request.result, waited);
    if (request.operation == Operation::Close)
        return shield(Deadline::never(),
                      [&] { return blocking([&] { return outcome(call_kernel(request), {}); }); });
    return blocking([&] { return outcome(call_kernel(request), {}); }, {.start_by = deadline});
}

std::string_view name_of(Operation operation) {
    switch (operation) {
    case Operation::Open: return "open";
    case Operation::Read: return "read";
    case Operation::Write: return "write";
    case Operation::Resize: return "resize";
    case Operation::Sync: return "sync";
    case Operation::Status: return "status of";
    case Operation::Rename: return "rename";
    case Operation::Remove: return "remove";
    case Operation::Close: return "close";
    }
    return "use";
}

// Adds the operation and the name of the file to the error.
[[gnu::noinline]] Error with_file(const Error& error, const FileRequest& request) {
    // The descriptor is closed, and its number may belong to another file already.
    if (request.operation == Operation::Close) return error.with_context("close");
    std::string thing = request.path ? request.path : file_name(request.fd);
    if (request.target_path) thing.append(" to ").append(request.target_path);
    return error.with_context(name_of(request.operation), thing);
}

Result<long> perform(FileRequest& request, Deadline deadline) {
    Result<long> done = carry_out(request, deadline);
    if (!done) return with_file(done.error(), request);
    return done;
}

Result<void> check_path(const std::string& path) {
    if (path.find('\0') == std::string::npos) return {};
    return Error(ErrorKind::Misuse, EINVAL, "a path with a zero byte: " + path);
}

FileKind kind_of_mode(std::uint32_t mode) {
    if (S_ISREG(mode)) return FileKind::Regular;
    if (S_ISDIR(mode)) return FileKind::Directory;
    return S_ISLNK(mode) ? FileKind::Link : FileKind::Other;
}

Result<FileStatus> ask_status(FileRequest& request, Deadline deadline) {
    struct statx raw{};
    request.operation = Operation::Status;
    request.status = &raw;
    WEFT_TRY(perform(request, deadline));
    FileStatus status;
    status.kind = kind_of_mode(raw.stx_mode);
    status.size = raw.stx_size;
    status.permissions = raw.stx_mode & 07777U;
    status.modified = std::chrono::sys_time<Nanoseconds>(
        std::chrono::seconds(raw.stx_mtime.tv_sec) + Nanoseconds(raw.stx_mtime.tv_nsec));
    status.inode = raw.stx_ino;
    return status;
}

Result<std::size_t> transfer(Operation operation, int fd, const std::byte* begin, std::size_t size,
                             std::int64_t offset, Deadline deadline) {
    if (fd < 0) return ErrorKind::Closed;
    FileRequest request;
    request.operation = operation;
    request.fd = fd;
    request.buffer = const_cast<std::byte*>(begin);
    request.size = static_cast<std::uint32_t>(size < kTransferBytesMax ? size : kTransferBytesMax);
    request.offset = offset;
    auto moved = static_cast<std::size_t>(WEFT_TRY(perform(request, deadline)));
    WEFT_ASSERT(moved <= request.size, "no more is read or written than was asked for");
    return moved;
}

Error offset_error() { return Error(ErrorKind::Misuse, EINVAL, "no file has so large an offset"); }

// io_uring opens a named pipe without waiting for its other side, whatever the flags are. Then it
// has to be opened again by a thread that waits.
[[gnu::noinline]] bool opened_too_soon(const Result<long>& fd) {
    if (!fd) return fd.error().native_code() == ENXIO;
    struct statx status{};
    // Without synchronisation: a network file system must not ask its server.
    return ::statx(static_cast<int>(*fd), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE,
                   &status) == 0 &&
           S_ISFIFO(status.stx_mode);
}

int open_flags(const OpenOptions& options) {
    int flags = O_CLOEXEC;
    if (options.write || options.append) {
        flags |= options.read ? O_RDWR : O_WRONLY;
    } else {
        flags |= O_RDONLY;
    }
    if (options.create) flags |= O_CREAT;
    if (options.exclusive) flags |= O_EXCL;
    if (options.truncate) flags |= O_TRUNC;
    if (options.append) flags |= O_APPEND;
    return flags;
}

Error too_many_entries() {
    return Error::limit("it has more entries than", files::kDirectoryEntriesMax,
                        "files::kDirectoryEntriesMax");
}

Result<std::vector<DirectoryEntry>> list_on_thread(const std::string& path) {
    auto close_directory = [](DIR* directory) { ::closedir(directory); };
    std::unique_ptr<DIR, decltype(close_directory)> directory(::opendir(path.c_str()));
    if (!directory) return Error::from_errno(errno);
    std::vector<DirectoryEntry> entries =
        WEFT_TRY(read_entries(*directory, files::kDirectoryEntriesMax + 1));
    if (entries.size() > files::kDirectoryEntriesMax) return too_many_entries();
    return entries;
}

Result<void> made(int result) {
    if (result < 0) return Error::from_errno(-result);
    return {};
}

}  // namespace

Result<std::vector<DirectoryEntry>> read_simulated_entries(EnvFiles& disk, int beneath,
                                                           const std::string& path,
                                                           std::size_t entries_max) {
    std::vector<DirectoryEntry> entries;
    auto add = [](void* to, const char* name, bool is_directory) {
        static_cast<std::vector<DirectoryEntry>*>(to)->push_back(
            {name, is_directory ? FileKind::Directory : FileKind::Regular});
    };
    int result = disk.list(beneath, path.c_str(), add, &entries);
    if (result < 0) return Error::from_errno(-result);
    if (entries.size() > entries_max) entries.resize(entries_max);
    return entries;
}

Result<std::vector<DirectoryEntry>> read_entries(DIR& directory, std::size_t entries_max) {
    std::vector<DirectoryEntry> entries;
    while (entries.size() < entries_max) {
        errno = 0;
        dirent* raw = ::readdir(&directory);
        if (!raw && errno != 0) return Error::from_errno(errno);
        if (!raw) break;
        std::string name = raw->d_name;
        if (name == "." || name == "..") continue;
        FileKind kind = kind_of_mode(DTTOIF(raw->d_type));
        struct stat status{};
        // Some file systems do not tell the type.
        if (raw->d_type == DT_UNKNOWN &&
            ::fstatat(::dirfd(&directory), raw->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            kind = kind_of_mode(status.st_mode);
        }
        entries.push_back(DirectoryEntry{std::move(name), kind});
    }
    return entries;
}

Result<File> File::open(const std::string& path, const OpenOptions& options, Deadline deadline) {
    WEFT_TRY(check_path(path));
    FileRequest request;
    request.operation = Operation::Open;
    request.path = path.c_str();
    request.flags = open_flags(options);
    request.permissions = options.permissions;
    Result<long> fd = carry_out(request, deadline);
    if (request.taken && opened_too_soon(fd)) {
        if (fd) env::close(static_cast<int>(*fd));
        fd = blocking([&] { return outcome(call_kernel(request), {}); }, {.start_by = deadline});
    }
    if (!fd) return with_file(fd.error(), request);
    return File(static_cast<int>(*fd));
}

File& File::operator=(File&& other) noexcept {
    if (this == &other) return *this;
    if (fd_ >= 0) env::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    return *this;
}

File::~File() {
    if (fd_ >= 0) env::close(fd_);
}

Result<void> File::close() {
    if (fd_ < 0) return ErrorKind::Closed;
    FileRequest request;
    request.operation = Operation::Close;
    request.fd = std::exchange(fd_, -1);
    WEFT_TRY(perform(request, Deadline::never()));
    return {};
}

Result<std::size_t> File::read(std::span<std::byte> buffer, Deadline deadline) {
    return transfer(Operation::Read, fd_, buffer.data(), buffer.size(), FileRequest::kPosition,
                    deadline);
}

Result<std::size_t> File::write(std::span<const std::byte> bytes, Deadline deadline) {
    return transfer(Operation::Write, fd_, bytes.data(), bytes.size(), FileRequest::kPosition,
                    deadline);
}

Result<void> File::write_all(std::span<const std::byte> bytes, Deadline deadline) {
    while (!bytes.empty()) {
        std::size_t count = WEFT_TRY(write(bytes, deadline));
        bytes = bytes.subspan(count);
    }
    return {};
}

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<std::byte> buffer,
                                  Deadline deadline) const {
    if (offset > INT64_MAX) return offset_error();
    return transfer(Operation::Read, fd_, buffer.data(), buffer.size(),
                    static_cast<std::int64_t>(offset), deadline);
}

Result<std::size_t> File::write_at(std::uint64_t offset, std::span<const std::byte> bytes,
                                   Deadline deadline) {
    if (offset > INT64_MAX) return offset_error();
    return transfer(Operation::Write, fd_, bytes.data(), bytes.size(),
                    static_cast<std::int64_t>(offset), deadline);
}

Result<void> File::resize(std::uint64_t size, Deadline deadline) {
    if (fd_ < 0) return ErrorKind::Closed;
    if (size > INT64_MAX) return offset_error();
    FileRequest request;
    request.operation = Operation::Resize;
    request.fd = fd_;
    request.offset = static_cast<std::int64_t>(size);
    WEFT_TRY(perform(request, deadline));
    return {};
}

Result<void> File::sync(Deadline deadline) {
    if (fd_ < 0) return ErrorKind::Closed;
    FileRequest request;
    request.operation = Operation::Sync;
    request.fd = fd_;
    WEFT_TRY(perform(request, deadline));
    return {};
}

Result<FileStatus> File::status(Deadline deadline) const {
    if (fd_ < 0) return ErrorKind::Closed;
    FileRequest request;
    request.fd = fd_;
    return ask_status(request, deadline);
}

Result<FileStatus> files::status(const std::string& path, Deadline deadline) {
    WEFT_TRY(check_path(path));
    FileRequest request;
    request.path = path.c_str();
    return ask_status(request, deadline);
}

Result<void> files::rename(const std::string& from, const std::string& to, Deadline deadline) {
    WEFT_TRY(check_path(from));
    WEFT_TRY(check_path(to));
    FileRequest request;
    request.operation = Operation::Rename;
    request.path = from.c_str();
    request.target_path = to.c_str();
    WEFT_TRY(perform(request, deadline));
    return {};
}

namespace {

Result<void> unlink(const std::string& path, int flags, Deadline deadline) {
    WEFT_TRY(check_path(path));
    FileRequest request;
    request.operation = Operation::Remove;
    request.path = path.c_str();
    request.flags = flags;
    WEFT_TRY(perform(request, deadline));
    return {};
}

}  // namespace

Result<void> files::remove(const std::string& path, Deadline deadline) {
    return unlink(path, 0, deadline);
}

Result<void> files::remove_directory(const std::string& path, Deadline deadline) {
    return unlink(path, AT_REMOVEDIR, deadline);
}

Result<void> files::make_directory(const std::string& path, std::uint32_t permissions,
                                   Deadline deadline) {
    WEFT_TRY(check_path(path));
    if (Env* simulated = env::current()) {
        return in_context(made(simulated->files().make_directory(path.c_str(), permissions)),
                          "make the directory", path);
    }
    auto make = [&]() -> Result<void> {
        if (::mkdir(path.c_str(), permissions) != 0) return Error::from_errno(errno);
        return {};
    };
    return in_context(blocking(make, {.start_by = deadline}), "make the directory", path);
}

Result<std::vector<DirectoryEntry>> files::list_directory(const std::string& path,
                                                          Deadline deadline) {
    WEFT_TRY(check_path(path));
    if (Env* simulated = env::current()) {
        std::vector<DirectoryEntry> entries =
            WEFT_TRY(in_context(read_simulated_entries(simulated->files(), EnvFiles::kAnywhere,
                                                       path, files::kDirectoryEntriesMax + 1),
                                "list", path));
        if (entries.size() > files::kDirectoryEntriesMax)
            return too_many_entries().with_context("list", path);
        return entries;
    }
    return in_context(blocking([&] { return list_on_thread(path); }, {.start_by = deadline}),
                      "list", path);
}

}  // namespace weft
