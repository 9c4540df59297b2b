// What a stream sends of a file and the kernel does not copy by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::net {

// At least one byte from `offset` on; Closed at the end of the file. What the kernel has in memory
// is read at once, and only the rest by a thread of the blocking pool, while the fiber waits: a
// slow disk holds up nobody else. A plain thread waits itself.
Result<std::size_t> read_sent_file(int file, std::uint64_t offset, ByteSpace space,
                                   Deadline deadline);

// Lets another thread read that part, so that the kernel has it in memory: for file systems that
// cannot tell. What is wrong with the file is for the next call to say.
Result<void> warm_sent_file(int file, std::uint64_t offset, std::uint64_t count, Deadline deadline);

}  // namespace weft::net
