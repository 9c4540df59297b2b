// RequestWriter: sends a request whose head lies in the connection's output, and its body.
//
// While it waits for the server to take more, it also listens: a server that answers before it has
// read everything (and perhaps never will) is heard, and its answer is not lost to the reset that
// may follow. Owned by the fiber that has the lease.
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
    struct Pace {
        Nanoseconds idle;  // without progress
        WholeTime whole;
    };
    RequestWriter(ClientConnection& connection, const Pace& pace)
        : connection_(connection), pace_(pace) {}

    // The head, and the body if there is one. An error after which was_answered() is none: the
    // head of the response has come, and the rest of the request need not be sent.
    Result<void> send(Body& body);
    // The head alone.
    Result<void> send_head();
    // The head, and a body that is in memory.
    Result<void> send_text(std::string_view text);
    // A body that the caller writes: `size` bytes, or chunks. Then end().
    void begin(std::optional<std::uint64_t> size);
    Result<void> end();

    // For one who waits for more to write: whether the server has answered meanwhile.
    Result<bool> look_for_answer();

    // For one who goes on after an answer: what it interrupts is kept. resume() sends that, and
    // from then on nobody listens here, because somebody else reads the response.
    void keep_rest() { keeps_rest_ = true; }
    Result<void> resume();

    bool was_answered() const { return was_answered_; }
    bool has_failed() const { return has_failed_; }  // the server is gone, or does not read

    Result<void> write(Bytes bytes) override;
    Result<void> flush() override;
    Headers& trailers() override { return trailers_; }

private:
    Result<void> send_file(const Body::FilePart& part);
    Result<void> send_gathered(Bytes more);
    Result<void> send_parts(std::span<Bytes> parts);
    Result<void> wait_for_room();
    Result<void> answered();
    void keep(std::span<const Bytes> parts);
    void settle();
    Result<void> stopped(const Error& error);

    ClientConnection& connection_;
    const Pace pace_;
    bool is_chunked_ = false;
    bool was_answered_ = false;
    bool has_failed_ = false;
    bool keeps_rest_ = false;
    bool listens_ = true;
    std::uint64_t length_ = 0;
    std::uint64_t written_ = 0;
    std::string gathered_;
    std::string rest_;  // of what an answer has interrupted
    Headers trailers_;
};

}  // namespace weft::http
