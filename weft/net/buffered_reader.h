// BufferedReader: lines, and messages of a known length or end, out of a stream of bytes.
//
//     BufferedReader reader(socket);
//     while (auto line = WEFT_TRY(reader.line(Deadline::after(1min)))) ...    // without its end
//     std::string_view head = WEFT_TRY(reader.until("\r\n\r\n"));
//     Bytes body = WEFT_TRY(reader.exactly(length));
//
// It reads ahead and keeps what was not asked for until the next call, so nobody else may read the
// stream meanwhile; take_buffered() hands those bytes over to whoever reads the stream next. What a
// call returns lies in the reader and is valid until the next call. No message is longer than
// `bytes_max`, which is also the most memory that the reader takes; a longer one gives Limit. A
// message that the end of the stream cuts off gives Closed. An error loses nothing: the bytes that
// had arrived stay buffered, and after TimedOut or Cancelled the same call continues where it was.
//
// The stream outlives the reader. Used by one fiber or thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/net/stream.h"

namespace weft::net {

class BufferedReader {
public:
    static constexpr std::size_t kBytesMax = 64 * 1024;

    explicit BufferedReader(Stream& stream, std::size_t bytes_max = kBytesMax)
        : stream_(&stream), bytes_max_(bytes_max) {}

    // The next line without its "\n" or "\r\n", which count towards the limit; no value at the end
    // of the stream.
    Result<std::optional<std::string_view>> line(Deadline deadline = Deadline::never());
    // Everything up to the first `mark`, including the mark. An empty mark is Misuse.
    Result<std::string_view> until(std::string_view mark, Deadline deadline = Deadline::never());
    Result<Bytes> exactly(std::size_t count, Deadline deadline = Deadline::never());
    // What has arrived, at least one byte, or 0 at the end, as Stream::read() does.
    Result<std::size_t> read(ByteSpace space, Deadline deadline = Deadline::never());

    // What was read from the stream and not yet returned.
    Bytes buffered() const {
        WEFT_DASSERT(begin_ <= end_ && end_ <= bytes_.size(), "this reader has been moved from");
        return Bytes(bytes_).subspan(begin_, end_ - begin_);
    }
    // Returns the same bytes and removes them from the reader.
    std::string take_buffered();

private:
    Result<std::size_t> find(std::string_view mark, Deadline deadline);
    Result<bool> fill(Deadline deadline);
    void make_room();
    Bytes take(std::size_t count);

    Stream* stream_;
    std::size_t bytes_max_;
    std::vector<std::byte> bytes_;  // [begin_, end_) has arrived and was not returned yet
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace weft::net
