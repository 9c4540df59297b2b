// ResponseBody: the body of a client's response, read from the connection it arrives on.
//
// Decodes the content coding if the client asked for it. The connection goes back to the pool with
// the last byte, or is closed. Owned by the fiber that has the response.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/body.h"
#include "weft/http/client/internal/phase.h"
#include "weft/http/client/internal/pool.h"
#include "weft/http/wire/content_coding.h"

namespace weft::http {

class ResponseBody final : public BodyReader {
public:
    // `coding` is the content coding to decode; nothing: the content is returned as received.
    static Result<std::unique_ptr<ResponseBody>> create(Lease lease,
                                                        std::optional<wire::Coding> coding,
                                                        const WholeTime& whole);
    ResponseBody(Lease lease, const WholeTime& whole);
    ~ResponseBody() override;

    Result<std::size_t> read(ByteSpace space) override;
    std::optional<std::uint64_t> size() const override { return size_; }
    const Headers& trailers() const override { return trailers_; }
    void set_bytes_max(std::uint64_t bytes_max) override { bytes_max_ = bytes_max; }

    // See ClientResponse::take_whole().
    std::optional<std::string> take_whole();

    // Null once the body has ended.
    ClientConnection* connection() { return lease_.get(); }

private:
    Result<std::size_t> read_plain(ByteSpace space);
    Result<std::size_t> read_coded(ByteSpace space);
    Result<std::size_t> fail(const Error& error);
    void finish();

    Lease lease_;
    const WholeTime whole_;
    std::optional<std::uint64_t> size_;
    std::uint64_t bytes_max_;
    std::uint64_t given_ = 0;
    Headers trailers_;
    std::optional<Error> error_;

    std::optional<wire::Decoder> decoder_;
    std::unique_ptr<std::byte[]> coded_;  // kReadBufferBytes, of which [begin, end) is not decoded
    std::size_t coded_begin_ = 0;
    std::size_t coded_end_ = 0;
    bool may_have_more_ = false;  // the decoder may give more content without more bytes
};

}  // namespace weft::http
