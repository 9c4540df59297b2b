// Upload: forwards a request with a body to an upstream, as the client sends it.
//
// It notices when the upstream answers before it has the whole body. The rest can then be sent
// while the response is forwarded, as long as the upstream takes it. Used by one fiber at a time;
// the request and the connection outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/client/internal/connection.h"
#include "weft/http/client/internal/peer_watch.h"
#include "weft/http/client/internal/request_writer.h"
#include "weft/http/request.h"

namespace weft::http {

// The beginning of a request body, read before a connection to the upstream is taken: a client that
// is slow to send a small body does not occupy one.
struct BodyStart {
    // Reads at most `bytes_max` bytes.
    static Result<BodyStart> read(BodyReader& body, std::size_t bytes_max);

    std::string text;
    bool is_whole = false;  // the body has no more bytes
};

class Upload {
public:
    // The head of the request lies in the connection's output. `idle` is the time limit for the
    // upstream to take more bytes.
    Upload(Request& request, ClientConnection& connection, Nanoseconds idle);
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // Sends the head alone, of a request whose client waits for 100 (Continue). True: the upstream
    // wants the body, or has said nothing for `patience`. False: it has answered without the body.
    Result<bool> send_head_first(Nanoseconds patience);
    // Sends the head, if it is not sent yet, and the body, until its end or until the upstream
    // answers.
    Result<void> send(const BodyStart& start);
    // Sends what was left when the upstream answered. Another fiber may read the response at the
    // same time.
    Result<void> send_interrupted();

    bool is_whole() const { return is_whole_; }  // everything was sent
    // Whether send() was never called, so that the body can be sent to another upstream.
    bool is_untouched() const { return is_untouched_; }
    // The cause of an error. was_answered(): the upstream has answered, and nothing has failed.
    // has_failed(): the upstream's fault. Neither: the client's fault.
    bool was_answered() const { return writer_.was_answered(); }
    bool has_failed() const { return has_failed_ || writer_.has_failed(); }

private:
    Result<void> send_start(const BodyStart& start);
    Result<void> forward_body();
    Result<std::size_t> read(ByteSpace space);
    Result<void> end();

    Request& request_;
    ClientConnection& connection_;
    RequestWriter writer_;
    std::optional<PeerWatch> watch_;
    std::uint64_t read_ = 0;           // bytes of the request's body
    bool watches_upstream_ = false;    // notice an answer while waiting for the client
    bool was_answered_early_ = false;  // send_interrupted() was called
    bool is_read_ = false;             // the request's body has been read to its end
    bool has_ended_ = false;           // the end was handed to the writer
    bool is_whole_ = false;            // everything was sent
    bool has_failed_ = false;
    bool is_untouched_ = true;
};

}  // namespace weft::http
