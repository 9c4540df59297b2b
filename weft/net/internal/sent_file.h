// Reads the parts of a file that a stream sends and the kernel does not copy by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::net {

// Reads at least one byte from `offset` on into `space`, which is not empty; Closed at the end of
// the file. What is in the page cache is read at once. Anything else is read by a thread of the
// blocking pool while the fiber is parked, so a slow disk delays no other fiber. A plain thread
// reads by itself.
Result<std::size_t> read_sent_file(int file, std::uint64_t offset, ByteSpace space,
                                   Deadline deadline);

// Lets a thread of the blocking pool read that part into the page cache: for file systems that
// cannot tell whether it is there. An error of the file is left for the next call to report.
Result<void> warm_sent_file(int file, std::uint64_t offset, std::uint64_t count, Deadline deadline);

}  // namespace weft::net
