// Files for fibers: opening, reading, writing and the like park the fiber, never its worker.
//
// If the reactor has io_uring, the kernel carries the operation out; else a thread of the blocking
// pool does; a plain thread calls the kernel itself. A cancelled operation asks for an early end
// and waits for it, because the kernel works on the caller's memory; if it completes nevertheless,
// its result is returned. Errors carry the kernel's code (native_code()) and name the file:
// NotFound, "open notes.txt: No such file or directory".
//
//     File file = WEFT_TRY(File::open("notes.txt", {.write = true, .create = true}));
//     WEFT_TRY(file.write_all(as_bytes("hello\n")));
//     WEFT_TRY(file.sync());
//
// Any fiber and any thread. Calls at an offset may run at once; calls at the file's position are
// for one at a time. Nobody may be in a call when the file is closed, moved or destroyed. A
// simulated machine has a disk of its own, in memory (weft/sim/internal/disk.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/io.h"

namespace weft {

struct OpenOptions {
    bool read = true;
    bool write = false;
    bool create = false;     // if it is not there
    bool exclusive = false;  // with create: fails if it is there
    bool truncate = false;
    bool append = false;               // every write goes to the end
    std::uint32_t permissions = 0666;  // of a file that is created; the process's mask applies
};

enum class FileKind : std::uint8_t { Regular, Directory, Link, Other };

struct FileStatus {
    FileKind kind = FileKind::Other;
    std::uint64_t size = 0;
    std::uint32_t permissions = 0;
    std::chrono::sys_time<Nanoseconds> modified{};
    std::uint64_t inode = 0;
};

struct DirectoryEntry {
    std::string name;  // without the folder's path
    FileKind kind = FileKind::Other;
};

class File {
public:
    static Result<File> open(const std::string& path, const OpenOptions& options = {},
                             Deadline deadline = Deadline::never());
    static File adopt(int fd) { return File(fd); }  // takes ownership
    File() = default;                               // closed: every call gives Closed
    File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    File& operator=(File&& other) noexcept;
    ~File();  // closes on this thread; use close() where that may take long

    // At the file's position, which moves on. 0 is the end of the file.
    Result<std::size_t> read(std::span<std::byte> buffer, Deadline deadline = Deadline::never());
    Result<std::size_t> write(std::span<const std::byte> bytes,
                              Deadline deadline = Deadline::never());
    Result<void> write_all(std::span<const std::byte> bytes, Deadline deadline = Deadline::never());
    // At an offset; the position stays.
    Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> buffer,
                                Deadline deadline = Deadline::never()) const;
    Result<std::size_t> write_at(std::uint64_t offset, std::span<const std::byte> bytes,
                                 Deadline deadline = Deadline::never());

    // Truncates the file, or extends it with zeros.
    Result<void> resize(std::uint64_t size, Deadline deadline = Deadline::never());
    // Returns when the disk has it.
    Result<void> sync(Deadline deadline = Deadline::never());
    Result<FileStatus> status(Deadline deadline = Deadline::never()) const;
    // Cannot be cancelled; also after an error the descriptor is closed. Some file systems report a
    // failed write here.
    Result<void> close();

    bool is_open() const { return fd_ >= 0; }
    int fd() const { return fd_; }  // keeps its ownership; -1 when closed

private:
    explicit File(int fd) : fd_(fd) {}

    int fd_ = -1;
};

// Operations on paths. A path with a zero byte is refused as Misuse.
namespace files {

constexpr std::size_t kDirectoryEntriesMax = 1'000'000;

Result<FileStatus> status(const std::string& path, Deadline deadline = Deadline::never());
// Replaces what `to` names, in one step.
Result<void> rename(const std::string& from, const std::string& to,
                    Deadline deadline = Deadline::never());
Result<void> remove(const std::string& path, Deadline deadline = Deadline::never());
Result<void> remove_directory(const std::string& path, Deadline deadline = Deadline::never());
Result<void> make_directory(const std::string& path, std::uint32_t permissions = 0777,
                            Deadline deadline = Deadline::never());
// In no order, without "." and ".."; the error Limit if there are more than kDirectoryEntriesMax.
Result<std::vector<DirectoryEntry>> list_directory(const std::string& path,
                                                   Deadline deadline = Deadline::never());

}  // namespace files
}  // namespace weft
