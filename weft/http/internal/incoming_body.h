// IncomingBody: the body of a message that is being received, by a server or a client.
//
// It reads from the buffer first, then from the stream; a body of known length is received into the
// reader's memory. It ends exactly where the message ends: what follows stays in the buffer.
// Owned by one fiber or loop at a time. begin() makes it ready for the next message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/body.h"
#include "weft/http/internal/body_memory.h"
#include "weft/http/internal/read_buffer.h"
#include "weft/http/wire/chunked.h"
#include "weft/http/wire/head.h"
#include "weft/net/stream.h"

namespace weft::http {

struct IncomingLimits {
    std::uint64_t bytes_max = UINT64_MAX;
    Nanoseconds idle = Nanoseconds::max();  // how long no byte may come
    // The rate is measured over each such time of waiting for the sender.
    Nanoseconds grace = Nanoseconds::max();
    std::uint64_t bytes_per_second = 0;  // 0: any rate will do
    BodyMemory* memory = nullptr;        // null: no bound on what read_all() holds
    wire::ChunkedLimits chunked;
};

class IncomingBody final : public BodyReader {
public:
    // Called once, before the first wait for the peer.
    using BeforeWait = std::move_only_function<Result<void>()>;

    void begin(net::Stream& stream, ReadBuffer& buffer, wire::Framing framing, std::uint64_t length,
               const IncomingLimits& limits);
    void begin_without_body();
    Nanoseconds idle() const { return limits_.idle; }
    void set_deadline(Deadline deadline) { deadline_ = deadline; }  // of the whole body
    void set_before_wait(BeforeWait before_wait) { before_wait_ = std::move(before_wait); }
    bool has_before_wait() const { return static_cast<bool>(before_wait_); }

    Result<std::size_t> read(ByteSpace space) override;
    // The same without waiting, from the buffer alone; nothing where the stream would be read.
    std::optional<Result<std::size_t>> read_buffered(ByteSpace space);
    std::optional<std::uint64_t> size() const override;
    const Headers& trailers() const override { return trailers_; }
    void set_bytes_max(std::uint64_t bytes) override { limits_.bytes_max = bytes; }
    // Gives back what read_all() was counted for. The message is over.
    void release_memory();

    // The whole body in the buffer, which finishes it, if nothing of it was read and all of it has
    // come with the head. The text lives until the buffer releases the head.
    std::optional<std::string_view> take_whole();

    bool is_finished() const { return finished_; }
    bool has_failed() const { return failed_; }
    std::uint64_t received() const { return received_; }
    // After a failure, the status of the response: 400, 408, 413 or 503; 0 if the sender is gone.
    std::uint16_t failure_status() const { return failure_status_; }
    const Error& error() const { return error_; }  // of a failure
    // Whether drop_rest() can succeed; false also where the sender waits for 100 (Continue).
    bool can_be_dropped(std::uint64_t bytes_max) const;
    // Reads and drops the rest. False when it is more than `bytes_max` or failed.
    bool drop_rest(std::uint64_t bytes_max, Deadline deadline);
    // Drops what is in the buffer, without waiting. True: that was the rest.
    bool drop_buffered();

private:
    Result<void> hold(std::uint64_t bytes) override;
    Result<std::size_t> fail_too_large();
    Result<std::size_t> fail(Error error, std::uint16_t status);
    Result<std::size_t> take_known(ByteSpace space);
    Result<std::size_t> take_chunked(ByteSpace space);
    Result<std::size_t> take_until_close(ByteSpace space);
    std::size_t take_buffered(ByteSpace space);
    Result<std::size_t> receive(ByteSpace space);
    bool has_rate() const {
        return limits_.bytes_per_second != 0 && limits_.grace != Nanoseconds::max();
    }
    Deadline next_deadline(Instant now) const;
    void count_rate(std::size_t count, Nanoseconds waited);
    Result<std::size_t> count_received(std::size_t count);

    net::Stream* stream_ = nullptr;
    ReadBuffer* buffer_ = nullptr;
    wire::Framing framing_ = wire::Framing::None;
    bool finished_ = true;
    bool failed_ = false;
    bool only_buffered_ = false;
    std::uint16_t failure_status_ = 0;
    std::uint64_t length_ = 0;
    std::uint64_t left_ = 0;
    std::uint64_t received_ = 0;
    // Of the current measurement of the rate: the bytes that have come, and the time of waiting.
    std::uint64_t rate_bytes_ = 0;
    Nanoseconds rate_waited_{};
    std::uint64_t held_ = 0;          // by read_all()
    std::uint64_t memory_taken_ = 0;  // of limits_.memory, for what is held
    Deadline deadline_;               // of the whole body
    IncomingLimits limits_;
    wire::ChunkedDecoder decoder_;
    Headers trailers_;
    BeforeWait before_wait_;
    Error error_ = ErrorKind::Closed;
};

}  // namespace weft::http
