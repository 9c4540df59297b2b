// RequestWriter: sends a request whose head lies in the connection's output, and its body.
//
// While it waits for the server to take more, it also reads. A server may answer before it has read
// the whole request, and then close: the answer must be read before the reset that may follow
// discards it. Owned by the fiber that has the lease.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/body.h"
#include "weft/http/client/internal/connection.h"
#include "weft/http/client/internal/phase.h"

namespace weft::http {

class RequestWriter final : public BodyWriter {
public:
    struct TimeLimits {
        Nanoseconds idle;  // the time limit without progress
        WholeTime whole;
    };
    RequestWriter(ClientConnection& connection, const TimeLimits& limits)
        : connection_(connection), limits_(limits) {}

    // Sends the head, and the body if there is one. If was_answered() is true after an error, the
    // request has not failed: the head of the response has come before the request was sent whole.
    Result<void> send(Body& body);
    // Sends the head alone.
    Result<void> send_head();
    // Sends the head, and a body that is in memory.
    Result<void> send_text(std::string_view text);
    // Begins a body that the caller writes: `size` bytes, or chunks. It is complete after end().
    void begin(std::optional<std::uint64_t> size);
    Result<void> end();

    // Whether the server has answered, for a caller that waits for more of the body to write.
    Result<bool> try_receive_answer();

    // For a caller that goes on sending after an early answer: keeps the bytes that the answer
    // interrupted. resume() sends them, and from then on nothing here reads from the connection,
    // because another fiber reads the response.
    void keep_interrupted() { keeps_interrupted_ = true; }
    Result<void> resume();

    bool was_answered() const { return was_answered_; }
    bool has_failed() const { return has_failed_; }  // the server has gone, or takes no more

    Result<void> write(Bytes bytes) override;
    Result<void> flush() override;
    Headers& trailers() override { return trailers_; }

private:
    Result<void> send_file(const Body::FilePart& part);
    Result<void> send_gathered(Bytes more);
    Result<void> send_parts(std::span<Bytes> parts);
    Result<void> wait_for_room();
    Result<void> answered_early();
    void keep_unsent(std::span<const Bytes> parts);
    void reset_output();
    Result<void> write_failed(const Error& error);

    ClientConnection& connection_;
    const TimeLimits limits_;
    bool is_chunked_ = false;
    bool was_answered_ = false;
    bool has_failed_ = false;
    bool keeps_interrupted_ = false;
    bool watches_server_ = true;  // read while sending, to notice an early answer
    std::uint64_t length_ = 0;    // of a body that is not chunked
    std::uint64_t written_ = 0;   // by write(), gathered bytes included
    std::string gathered_;        // small writes that are not sent yet
    std::string interrupted_;     // the bytes that an early answer has kept from being sent
    Headers trailers_;
};

}  // namespace weft::http
