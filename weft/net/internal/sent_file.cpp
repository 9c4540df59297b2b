#include "weft/net/internal/sent_file.h"

#include "weft/fiber/blocking.h"
#include "weft/net/internal/calls.h"

namespace weft::net {

Result<std::size_t> read_sent_file(int file, std::uint64_t offset, ByteSpace space,
                                   Deadline deadline) {
    long count = calls::read_cached_at(file, offset, space.data(), space.size());
    // Whatever the reason is: what is wrong with the file comes out below as well.
    if (count < 0) {
        auto read = [&] { return calls::read_at(file, offset, space.data(), space.size()); };
        count = WEFT_TRY(blocking(read, {.start_by = deadline}));
    }
    if (count < 0)
        return Error::from_errno(static_cast<int>(-count)).with_context("read", "a sent file");
    if (count == 0) return Error(ErrorKind::Closed, "the file ends too early");
    return static_cast<std::size_t>(count);
}

}  // namespace weft::net
