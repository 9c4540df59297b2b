#include "weft/http/forms/multipart_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/turn.h"
#include "weft/http/request.h"

namespace weft::http {
namespace {

constexpr std::size_t kBufferBytes = 16 * 1024;

}  // namespace

MultipartReader::MultipartReader(BodyReader& body, std::string_view boundary, const Limits& limits)
    : body_(body),
      limits_(limits),
      parser_(boundary, limits),
      buffer_(std::max(kBufferBytes, 2 * parser_.bytes_needed_max())) {}

Result<std::unique_ptr<MultipartReader>> MultipartReader::open(Request& request,
                                                               const Limits& limits) {
    std::string_view type = request.header("content-type").value_or("");
    if (request.headers().count("content-type") > 1)
        return Error(ErrorKind::Other, "the request has two types");
    return open(request.body(), type, limits);
}

Result<std::unique_ptr<MultipartReader>> MultipartReader::open(BodyReader& body,
                                                               std::string_view content_type,
                                                               const Limits& limits) {
    std::string boundary = WEFT_TRY(wire::parse_multipart_type(content_type));
    // tidy: allow new: the constructor is private
    return std::unique_ptr<MultipartReader>(new MultipartReader(body, boundary, limits));
}

std::string_view MultipartReader::unparsed() const {
    WEFT_ASSERT(begin_ <= end_ && end_ <= buffer_.size());
    return as_text(Bytes(buffer_).subspan(begin_, end_ - begin_));
}

Error MultipartReader::fail(Error error) {
    failure_ = std::move(error);
    return *failure_;
}

// Reads more of the body behind the bytes that are not parsed. The end of the body is an error
// here; only finish() expects it.
Result<void> MultipartReader::fill() {
    WEFT_ASSERT(unread_content_.empty(), "the content in the buffer would be overwritten");
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    WEFT_ASSERT(end_ < buffer_.size(), "a read of nothing would be taken for the end");
    Result<std::size_t> count = body_.read(ByteSpace(buffer_).subspan(end_));
    // Not remembered as a failure: if only the reader's context has ended, reading can go on in
    // another one. The body itself remembers any other error.
    if (!count) return count.error();
    if (*count == 0) return fail(parser_.finish(unparsed()).error());
    WEFT_ASSERT(*count <= buffer_.size() - end_, "a read fills its space at most");
    end_ += *count;
    return {};
}

Result<wire::MultipartStep> MultipartReader::step() {
    if (failure_) return *failure_;
    for (;;) {
        wire::MultipartStep step = parser_.next(unparsed());
        WEFT_ASSERT(step.used <= end_ - begin_, "the parser uses what it is given");
        begin_ += step.used;
        if (step.event == Event::Failed) return fail(parser_.error());
        if (step.event != Event::NeedMore) return step;
        WEFT_TRY(fill());
    }
}

// Reads to the end of the body. Nothing but a line end may follow the last part.
Result<void> MultipartReader::finish() {
    WEFT_ASSERT(form_ended_ && unread_content_.empty(), "a part has content left");
    while (!body_ended_) {
        wire::MultipartStep step = parser_.next(unparsed());
        WEFT_ASSERT(step.used <= end_ - begin_, "the parser uses what it is given");
        begin_ += step.used;
        if (step.event == Event::Failed) return fail(parser_.error());
        if (step.event != Event::NeedMore) continue;
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
        WEFT_ASSERT(end_ < buffer_.size(), "a read of nothing would be taken for the end");
        std::size_t count = WEFT_TRY(body_.read(ByteSpace(buffer_).subspan(end_)));
        end_ += count;
        body_ended_ = count == 0;
    }
    Result<void> finished = parser_.finish(unparsed());
    if (!finished) return fail(finished.error());
    return {};
}

Result<std::optional<MultipartPart>> MultipartReader::next() {
    unread_content_ = {};
    for (;;) {
        turn::may_wait("form.next", this);
        if (failure_) return *failure_;
        if (form_ended_) {
            WEFT_TRY(finish());
            return std::optional<MultipartPart>();
        }
        wire::MultipartStep found = WEFT_TRY(step());
        if (found.event == Event::PartEnd) in_part_ = false;
        if (found.event == Event::Part) {
            WEFT_ASSERT(!in_part_, "the part before has ended");
            in_part_ = true;
            limit_part(limits_.part_bytes);
            return std::optional(parser_.part());
        }
        form_ended_ = found.event == Event::End;
    }
}

Result<std::size_t> MultipartReader::read(ByteSpace space) {
    turn::may_wait("form.read", this);
    if (failure_) return *failure_;
    if (space.empty()) return 0;
    if (unread_content_.empty()) {
        if (!in_part_) return 0;
        wire::MultipartStep found = WEFT_TRY(step());
        if (found.event == Event::PartEnd) {
            in_part_ = false;
            return 0;
        }
        WEFT_DASSERT(found.content.size() <= found.used, "content lies in what was parsed");
        unread_content_ = found.content;
        if (unread_content_.size() > part_left_)
            return fail(Error::limit("a part of the form has more bytes than", part_bytes_max_,
                                     "MultipartReaderLimits::part_bytes"));
        part_left_ -= unread_content_.size();
    }
    std::size_t count = std::min(space.size(), unread_content_.size());
    std::memcpy(space.data(), unread_content_.data(), count);
    unread_content_.remove_prefix(count);
    return count;
}

}  // namespace weft::http
