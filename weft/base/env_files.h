// EnvFiles: what Weft asks of the disk of the machine it runs on.
//
// The part of Env (env.h) for files, with the arguments of open(2) and the like. weft/fiber makes
// these calls: to the kernel, or to this interface in a thread that executes a simulated machine.
// All return a count, a descriptor or 0, or -errno.
#pragma once

#include <cstddef>
#include <cstdint>

struct statx;

namespace weft {

class EnvFiles {
public:
    static constexpr int kAnywhere = -1;  // as `beneath`: a path from the root

    // `beneath` is a descriptor of a folder, which the path may not leave.
    virtual int open(int beneath, const char* path, int flags, std::uint32_t permissions) = 0;
    // A negative offset means the current position of the file.
    virtual long read_at(int fd, void* buffer, std::size_t size, std::int64_t offset) = 0;
    virtual long write_at(int fd, const void* buffer, std::size_t size, std::int64_t offset) = 0;
    virtual int resize(int fd, std::int64_t size) = 0;
    virtual int sync(int fd) = 0;
    // Without a path (null), the status of the descriptor itself.
    virtual int status(int fd, const char* path, struct statx& status) = 0;
    virtual int rename(const char* from, const char* to) = 0;
    virtual int remove(const char* path, int flags) = 0;
    virtual int make_directory(const char* path, std::uint32_t permissions) = 0;
    // Calls `each` for every entry of the folder, in sorted order of the names.
    using Each = void (*)(void* context, const char* name, bool is_directory);
    virtual int list(int beneath, const char* path, Each each, void* context) = 0;

protected:
    ~EnvFiles() = default;
};

}  // namespace weft
