#include "weft/http/client/internal/response_body.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/turn.h"
#include "weft/http/client/internal/phase.h"
#include "weft/http/limits.h"

namespace weft::http {

Result<std::unique_ptr<ResponseBody>> ResponseBody::create(Lease lease,
                                                           std::optional<wire::Coding> coding,
                                                           const WholeTime& whole) {
    auto body = std::make_unique<ResponseBody>(std::move(lease), whole);
    // A response without content has nothing to decode, whatever its fields say.
    if (!coding || !body->lease_) return body;
    const ClientLimits& limits = body->lease_->origin->pool().options().limits;
    body->decoder_ = WEFT_TRY(wire::Decoder::create(
        *coding, {.content_bytes = body->bytes_max_, .ratio_from_bytes = limits.ratio_from_bytes}));
    body->coded_ = std::make_unique<std::byte[]>(kReadBufferBytes);
    body->size_.reset();
    return body;
}

ResponseBody::ResponseBody(Lease lease, const WholeTime& whole)
    : lease_(std::move(lease)),
      whole_(whole),
      size_(lease_->body.size()),
      bytes_max_(lease_->origin->pool().options().limits.body_bytes) {
    WEFT_ASSERT(lease_->has_head(), "a body follows its head");
    bool is_upgraded = lease_->head().status == 101;
    if (lease_->body.is_finished() && !is_upgraded) finish();
}

// A body that was not read to its end closes the connection, unless the rest has been received.
ResponseBody::~ResponseBody() {
    if (lease_ && lease_->head().status != 101 && lease_->body.drop_buffered()) finish();
}

void ResponseBody::finish() {
    WEFT_ASSERT(lease_->body.is_finished(), "the rest would be taken for the next response");
    if (!lease_->body.trailers().empty()) trailers_ = lease_->body.trailers().copy();
    Origin::give_back(std::move(lease_));
}

Result<std::size_t> ResponseBody::fail(const Error& error) {
    const Origin* origin = lease_ ? lease_->origin.get() : nullptr;
    std::string doing = "read the body of the response";
    if (origin) doing += " of " + origin->to_string();
    Nanoseconds idle = lease_ ? lease_->body.idle() : Nanoseconds();
    Error named = in_phase(error, {doing, idle, "ClientTimeouts::idle"}, whole_);
    // Only the reader's own context has ended; the body can be read on in another context.
    if (CancelToken::current().is_cancelled()) return named;
    WEFT_DASSERT(!error_, "read() returns the first error again");
    error_ = named;
    lease_.reset();
    return named;
}

std::optional<std::string> ResponseBody::take_whole() {
    if (decoder_ || error_ || given_ != 0) return std::nullopt;
    if (!lease_) return std::string();
    if (lease_->head().status == 101 || !size_ || *size_ > bytes_max_) return std::nullopt;
    std::optional<std::string_view> whole = lease_->body.take_whole();
    if (!whole) return std::nullopt;
    WEFT_DASSERT(whole->size() == *size_, "it is the whole body");
    std::string text(*whole);
    given_ = text.size();
    finish();
    return text;
}

Result<std::size_t> ResponseBody::read(ByteSpace space) {
    // Count this read: one read of coded bytes serves many of decoded bytes, and after the end no
    // layer below is asked, which would count.
    if (decoder_ || !lease_) turn::may_wait("body.read", this);
    if (error_) return *error_;
    if (space.empty()) return 0;
    Result<std::size_t> count = decoder_ ? read_coded(space) : read_plain(space);
    if (!count) return fail(count.error());
    WEFT_ASSERT(*count <= space.size(), "a read fills its space at most");
    given_ += *count;
    if (given_ > bytes_max_)
        return fail(Error::limit("it has more bytes than", bytes_max_, "ClientLimits::body_bytes"));
    return count;
}

Result<std::size_t> ResponseBody::read_plain(ByteSpace space) {
    if (!lease_) return 0;
    std::size_t count = WEFT_TRY(lease_->body.read(space));
    if (lease_->body.is_finished()) finish();
    return count;
}

Result<std::size_t> ResponseBody::read_coded(ByteSpace space) {
    for (;;) {
        WEFT_ASSERT(coded_begin_ <= coded_end_ && coded_end_ <= kReadBufferBytes);
        if (coded_begin_ < coded_end_ || may_have_more_) {
            Bytes coded(coded_.get() + coded_begin_, coded_end_ - coded_begin_);
            auto step = WEFT_TRY(decoder_->decode(coded, space));
            WEFT_DASSERT(step.used <= coded.size() && step.made <= space.size());
            coded_begin_ += step.used;
            may_have_more_ = step.made == space.size();
            if (step.made > 0) return step.made;
            continue;
        }
        coded_begin_ = coded_end_ = 0;
        coded_end_ = WEFT_TRY(read_plain({coded_.get(), kReadBufferBytes}));
        if (coded_end_ > 0) continue;
        WEFT_TRY(decoder_->finish());
        return 0;
    }
}

}  // namespace weft::http
