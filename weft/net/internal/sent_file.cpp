#include "weft/net/internal/sent_file.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "weft/base/assert.h"
#include "weft/fiber/blocking.h"
#include "weft/net/internal/calls.h"

namespace weft::net {
namespace {

constexpr std::size_t kWarmBytes = 64 * 1024;

}  // namespace

Result<std::size_t> read_sent_file(int file, std::uint64_t offset, ByteSpace space,
                                   Deadline deadline) {
    WEFT_ASSERT(!space.empty(), "an empty read could not be told from the end of the file");
    long count = calls::read_cached_at(file, offset, space.data(), space.size());
    // Whatever the reason is: an error of the file is found by the read below as well.
    if (count < 0) {
        auto read = [&] { return calls::read_at(file, offset, space.data(), space.size()); };
        bool can_wait =
            count == -EAGAIN || calls::is_cached(file, offset, space.size()) != calls::Cached::Yes;
        if (can_wait) {
            count = WEFT_TRY(blocking(read, {.start_by = deadline}));
        } else {
            count = read();
        }
    }
    if (count < 0)
        return Error::from_errno(static_cast<int>(-count)).with_context("read", "a sent file");
    if (count == 0) return Error(ErrorKind::Closed, "the file ends too early");
    WEFT_ASSERT(static_cast<std::size_t>(count) <= space.size(), "pread() keeps to its space");
    return static_cast<std::size_t>(count);
}

Result<void> warm_sent_file(int file, std::uint64_t offset, std::uint64_t count,
                            Deadline deadline) {
    auto read = [&] {
        std::vector<std::byte> space(std::min<std::uint64_t>(count, kWarmBytes));
        for (std::uint64_t at = 0; at < count;) {
            std::size_t some = std::min<std::uint64_t>(count - at, space.size());
            long got = calls::read_at(file, offset + at, space.data(), some);
            if (got <= 0) return;
            at += static_cast<std::uint64_t>(got);
        }
    };
    return blocking(read, {.start_by = deadline});
}

}  // namespace weft::net
