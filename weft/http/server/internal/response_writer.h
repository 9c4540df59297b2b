// ResponseWriter: writes one response, whatever its body is made of.
//
// Small responses are gathered in the exchange's output, which the connection sends when it has
// nothing more to read. Produced bodies are sent in chunks, or without them where their size is
// known or the client speaks HTTP/1.0. Owned by the fiber or the loop that serves the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/log_limit.h"
#include "weft/base/result.h"
#include "weft/http/body.h"
#include "weft/http/response.h"
#include "weft/http/server/internal/exchange.h"
#include "weft/http/wire/head.h"
#include "weft/net/stream.h"

namespace weft::http {

// Sends what was gathered and clears it, also after an error; `time` is how long a piece may make
// no progress.
Result<void> send_output(net::Stream& stream, std::string& output, Nanoseconds time);

// Whether there are fields among them that only the server may write.
bool sets_framing(const Headers& headers);

// Appends the response to `output`; nothing for HTTP/1.0 (RFC 9110 §15.2). Misuse for fields that
// cannot be sent, or not with 1xx. `status` is 100 to 199.
Result<void> append_informational(std::string& output, wire::Version version, std::uint16_t status,
                                  const Headers& headers);

// RFC 9110 §9.3.6: a 2xx to CONNECT makes a tunnel of the connection. True for such a response
// without an upgrade function that would serve the tunnel.
inline bool is_false_tunnel(std::string_view method, const Response& response) {
    return method == "CONNECT" && response.status >= 200 && response.status < 300 &&
           !response.upgrade;
}

// Calls response.afterwards; what it throws is logged.
void call_afterwards(Response& response, LogLimit& log_limit);

class ResponseWriter final : public BodyWriter {
public:
    struct Options {
        bool head_only = false;  // HEAD
        bool keep_alive = true;
        wire::Version version = wire::Version::Http11;
        std::string_view server_name;
        CancelState* drain = nullptr;  // cancelled when the server drains
        bool may_wait = true;          // false: a small text stays in the output, however full
    };
    ResponseWriter(net::Stream& stream, Exchange& exchange, const ServerLimits& limits,
                   const Options& options)
        : stream_(stream), exchange_(exchange), limits_(limits), options_(options) {}

    // The whole response, once.
    Result<void> write_response(Response& response);
    // Afterwards; false: the response ends with the connection.
    bool keep_alive() const { return options_.keep_alive; }
    // The producer of the body has failed by itself: neither the client nor the network was at
    // fault.
    bool producer_failed() const { return producer_failed_; }
    std::uint64_t body_bytes() const { return body_bytes_; }

    Result<void> write(Bytes bytes) override;
    Result<void> write_all(std::span<const Bytes> pieces) override;
    Result<void> flush() override;
    Headers& trailers() override { return trailers_; }
    CancelToken drain() const override { return CancelToken(options_.drain); }
    void set_before_wait(BeforeWait before_wait) override { before_wait_ = std::move(before_wait); }

private:
    enum class Coding : std::uint8_t { None, Length, Chunked, UntilClose };

    void write_head(const Response& response);
    Result<void> write_text(Response& response, std::string_view text);
    Result<void> send_rest_of_text(Response& response, std::span<Bytes> parts);
    Result<void> write_file(const Body::FilePart& part);
    Result<void> write_produced(Body::Produced& produced);
    Result<void> check_length(std::size_t more) const;
    Result<void> send(std::span<const Bytes> more, std::size_t bytes);
    void begin_chunk();
    std::string_view end_chunk(std::size_t more);
    Result<void> end_chunks();

    net::Stream& stream_;
    Exchange& exchange_;
    const ServerLimits& limits_;
    Options options_;
    Coding coding_ = Coding::None;
    std::uint64_t length_ = 0;  // of Coding::Length
    std::uint64_t body_bytes_ = 0;
    bool has_failed_to_send_ = false;
    bool producer_failed_ = false;
    static constexpr std::size_t kNoChunk = SIZE_MAX;
    std::size_t chunk_begin_ = kNoChunk;  // where in the output the gathered chunk begins
    Headers trailers_;
    BeforeWait before_wait_;
};

}  // namespace weft::http
