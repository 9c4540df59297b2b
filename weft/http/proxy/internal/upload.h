// Upload: a request with a body on its way to an upstream, as the client sends it.
//
// It also listens: an upstream that answers before it has everything is heard. What is left then is
// sent beside the response, for as long as the upstream takes it. Used by one fiber at a time; the
// request and the connection outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/client/internal/connection.h"
#include "weft/http/client/internal/ear.h"
#include "weft/http/client/internal/request_writer.h"
#include "weft/http/request.h"

namespace weft::http {

// The beginning of a body, which was read before there was a connection for it: a client that is
// slow to send a small one holds none.
struct BodyStart {
    // At most so many bytes.
    static Result<BodyStart> read(BodyReader& body, std::size_t bytes_max);

    std::string text;
    bool is_whole = false;
};

class Upload {
public:
    // The head lies in the connection's output. `idle` is how long the upstream may take nothing.
    Upload(Request& request, ClientConnection& connection, Nanoseconds idle);
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // The head alone, of a request whose client waits for a word before it sends the body: whether
    // the upstream wants that, says nothing for so long, or answers without it.
    Result<bool> ask_first(Nanoseconds patience);
    // The head, if it is not sent yet, and the body, until its end or until the upstream answers.
    Result<void> send(const BodyStart& start);
    // What was left when the upstream answered, while somebody else reads what it says.
    Result<void> send_rest();

    bool is_whole() const { return is_whole_; }  // everything was sent
    // Nothing of the body was read: it can be sent to another upstream.
    bool is_untouched() const { return is_untouched_; }
    // After an error: the upstream has answered, so it is none; or it is the upstream's. Otherwise
    // it is the client's.
    bool was_answered() const { return writer_.was_answered(); }
    bool has_failed() const { return has_failed_ || writer_.has_failed(); }

private:
    Result<void> send_start(const BodyStart& start);
    Result<void> pass_on();
    Result<std::size_t> read(ByteSpace space);
    Result<void> end();

    Request& request_;
    ClientConnection& connection_;
    RequestWriter writer_;
    std::optional<Ear> ear_;
    std::uint64_t read_ = 0;
    bool listens_ = false;
    bool goes_on_ = false;  // after the answer
    bool is_read_ = false;
    bool has_ended_ = false;
    bool is_whole_ = false;
    bool has_failed_ = false;
    bool is_untouched_ = true;
};

}  // namespace weft::http
