// FileRequest: an operation on a file that a reactor can carry out.
//
// It lies in the frame of the function that submits it and waits for its end. A reactor that has
// taken it writes `result` and calls ended.complete() in some worker's poll().
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "weft/fiber/wait/lent_wait.h"

namespace weft {

struct FileRequest {
    enum class Operation : std::uint8_t {
        Open,
        Read,
        Write,
        Resize,  // to `offset` bytes
        Sync,
        Status,
        Rename,
        Remove,
        Close
    };
    static constexpr std::int64_t kPosition = -1;  // as offset: the file's own position

    Operation operation = Operation::Read;
    int fd = -1;
    int flags = 0;                  // of open and unlink
    std::uint32_t permissions = 0;  // of a file that open creates
    void* buffer = nullptr;         // Write only reads it
    std::uint32_t size = 0;
    std::int64_t offset = kPosition;
    const char* path = nullptr;         // null: Status of fd
    const char* target_path = nullptr;  // of Rename
    struct statx* status = nullptr;

    bool taken = false;  // by a reactor
    long result = 0;     // a count, a descriptor, 0; or -errno
    LentWait ended;
};

}  // namespace weft
