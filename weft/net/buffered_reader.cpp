#include "weft/net/buffered_reader.h"

#include <algorithm>
#include <cstring>

#include "weft/base/assert.h"
#include "weft/fiber/turn.h"

namespace weft::net {
namespace {

constexpr std::size_t kBytesMin = 4 * 1024;

Error cut_off() { return {ErrorKind::Closed, "the stream ends within a message"}; }

}  // namespace

// Makes space behind the buffered bytes, by moving them to the front or by growing the buffer.
void BufferedReader::make_room() {
    if (end_ < bytes_.size()) return;
    if (begin_ > 0) {
        std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        // At least half must be free, or a message of nearly this size would be moved for every
        // byte.
        if (end_ <= bytes_.size() / 2) return;
    }
    bytes_.resize(std::min(bytes_max_, std::max(kBytesMin, 2 * bytes_.size())));
    WEFT_DASSERT(end_ < bytes_.size(), "below the limit there is always room to grow");
}

// Reads once. False at the end of the stream. Less than `bytes_max` is buffered before the call.
Result<bool> BufferedReader::fill(Deadline deadline) {
    WEFT_DASSERT(end_ - begin_ < bytes_max_, "the caller has checked the limit");
    make_room();
    std::size_t count = WEFT_TRY(stream_->read(ByteSpace(bytes_).subspan(end_), deadline));
    WEFT_ASSERT(count <= bytes_.size() - end_, "the stream gave more bytes than there was space");
    end_ += count;
    return count > 0;
}

Bytes BufferedReader::take(std::size_t count) {
    WEFT_DASSERT(count <= end_ - begin_, "only what is buffered can be taken");
    Bytes taken = buffered().first(count);
    begin_ += count;
    // The bytes stay where they are until the next call.
    if (begin_ == end_) begin_ = end_ = 0;
    return taken;
}

// Reads until a mark is buffered; how many bytes there are up to its end.
Result<std::size_t> BufferedReader::find(std::string_view mark, Deadline deadline) {
    std::size_t searched = 0;
    for (;;) {
        std::size_t at = as_text(buffered()).find(mark, searched);
        if (at != std::string_view::npos) return at + mark.size();
        std::size_t there = end_ - begin_;
        if (there >= bytes_max_)
            return Error::limit("a message has more bytes than", bytes_max_,
                                "BufferedReader(bytes_max)");
        // A mark may have begun in the last bytes.
        searched = there < mark.size() ? 0 : there - mark.size() + 1;
        bool more = WEFT_TRY(fill(deadline));
        if (!more) return cut_off();
    }
}

Result<std::optional<std::string_view>> BufferedReader::line(Deadline deadline) {
    turn::may_wait("buffered.line", this);
    if (begin_ == end_ && bytes_max_ > 0) {
        bool more = WEFT_TRY(fill(deadline));
        if (!more) return std::optional<std::string_view>();
    }
    std::size_t count = WEFT_TRY(find("\n", deadline));
    std::string_view text = as_text(take(count));
    WEFT_DASSERT(text.ends_with('\n'), "what was found ends with the mark");
    text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return std::optional(text);
}

Result<std::string_view> BufferedReader::until(std::string_view mark, Deadline deadline) {
    turn::may_wait("buffered.until", this);
    if (mark.empty()) return Error(ErrorKind::Misuse, "an empty mark is found nowhere");
    std::size_t count = WEFT_TRY(find(mark, deadline));
    std::string_view text = as_text(take(count));
    WEFT_DASSERT(text.ends_with(mark), "what was found ends with the mark");
    return text;
}

Result<Bytes> BufferedReader::exactly(std::size_t count, Deadline deadline) {
    turn::may_wait("buffered.exactly", this);
    if (count > bytes_max_)
        return Error::limit("a message has more bytes than", bytes_max_,
                            "BufferedReader(bytes_max)");
    while (end_ - begin_ < count) {
        bool more = WEFT_TRY(fill(deadline));
        if (!more) return cut_off();
    }
    return take(count);
}

Result<std::size_t> BufferedReader::read(ByteSpace space, Deadline deadline) {
    if (begin_ == end_) return stream_->read(space, deadline);
    turn::may_wait("buffered.read", this);
    std::size_t count = std::min(space.size(), end_ - begin_);
    Bytes taken = take(count);
    std::ranges::copy(taken, space.begin());
    return count;
}

std::string BufferedReader::take_buffered() {
    WEFT_DASSERT(bytes_.size() <= bytes_max_, "the reader takes no more memory than its limit");
    std::string rest(as_text(buffered()));
    begin_ = end_ = 0;
    return rest;
}

}  // namespace weft::net
