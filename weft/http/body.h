// Bodies: what follows the head of a message, as a stream.
//
// A BodyReader gives what the peer sends, and a BodyWriter takes what is sent to the peer. Both
// wait for the peer, so memory stays bounded whatever the size. A Body is the body of a message
// that is to be sent: a text, a part of a file, or a function that writes it piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/os/file.h"
#include "weft/http/headers.h"

namespace weft::http {

// Owned by the fiber that reads the body.
class BodyReader {
public:
    virtual ~BodyReader() = default;

    // At least one byte, or 0 at the end. After an error every call gives the same error: Limit
    // (too large), TimedOut (too slow), Closed (cut off), Other (malformed). Only a wait that the
    // end of the caller's context has interrupted can be repeated, in another context.
    virtual Result<std::size_t> read(ByteSpace space) = 0;
    // The size by the head of the message; nothing if only the end of the body will show it.
    virtual std::optional<std::uint64_t> size() const = 0;
    // Of a chunked body, after its end.
    virtual const Headers& trailers() const = 0;

    // Replaces the server's limit, for a route that takes more or less. Before the first read.
    virtual void set_bytes_max(std::uint64_t bytes_max) { static_cast<void>(bytes_max); }

    // All of it, Limit if it is more than that.
    Result<std::string> read_all(std::size_t bytes_max = SIZE_MAX);

protected:
    // read_all() keeps so many more bytes in memory. Limit when all bodies together hold too much.
    virtual Result<void> hold(std::uint64_t bytes) {
        static_cast<void>(bytes);
        return {};
    }
};

// Owned by the fiber that writes the body. An error means that the peer is gone.
class BodyWriter {
public:
    virtual ~BodyWriter() = default;

    // Waits while the peer is slow. Small pieces are gathered until flush() or the end.
    virtual Result<void> write(Bytes bytes) = 0;
    Result<void> write(std::string_view text) { return write(as_bytes(text)); }
    // Several pieces in their order, which are sent together where that is cheaper.
    virtual Result<void> write_all(std::span<const Bytes> pieces) {
        for (Bytes piece : pieces) WEFT_TRY(write(piece));
        return {};
    }
    // Sends what was gathered.
    virtual Result<void> flush() = 0;
    // Sent after a body whose size was not given; set them before the producer returns.
    virtual Headers& trailers() = 0;
    // Cancelled when the server drains: a body without an end of its own shall end then.
    virtual CancelToken drain() const { return {}; }

    // Called once, before the first wait for a slow peer: the caller can prepare there what it
    // writes next.
    using BeforeWait = std::move_only_function<void()>;
    virtual void set_before_wait(BeforeWait before_wait) { static_cast<void>(before_wait); }
};

class Body {
public:
    // Writes the body, on the fiber of the connection. Its error cuts the body off, in a way that
    // the peer can see.
    using Producer = std::move_only_function<Result<void>(BodyWriter&)>;

    struct FilePart {
        std::shared_ptr<const File> file;  // shared with a cache of open files
        std::uint64_t offset = 0;
        std::uint64_t count = 0;
    };
    struct Produced {
        Producer producer;
        std::optional<std::uint64_t> size;  // nothing: chunked
    };

    Body() = default;  // empty
    // A borrowed text, the usual body, is moved without a dispatch over all kinds of content.
    Body(Body&& other) noexcept
        : content_(other.is_borrowed() ? Content(*std::get_if<0>(&other.content_))
                                       : Content(std::move(other.content_))) {}
    Body& operator=(Body&& other) noexcept {
        if (is_borrowed() && other.is_borrowed()) {
            *std::get_if<0>(&content_) = *std::get_if<0>(&other.content_);
        } else {
            content_ = std::move(other.content_);
        }
        return *this;
    }
    ~Body() = default;
    Body(std::string text) : content_(std::move(text)) {}
    Body(const char* text) : content_(std::string(text)) {}
    // The text outlives the message, for example a literal.
    static Body borrowed(std::string_view text) { return Body(Content(text)); }
    // The text lives as long as `owner`, which others may share, for example a cache of files.
    static Body shared(std::shared_ptr<const void> owner, std::string_view text) {
        return Body(Content(SharedText{std::move(owner), text}));
    }
    static Body file(std::shared_ptr<const File> file, std::uint64_t offset, std::uint64_t count) {
        WEFT_ASSERT(file, "a part of a file has a file");
        return Body(Content(FilePart{std::move(file), offset, count}));
    }
    static Body produced(Producer producer, std::optional<std::uint64_t> size = {}) {
        WEFT_ASSERT(producer, "a produced body has a producer");
        return Body(Content(Produced{std::move(producer), size}));
    }

    std::optional<std::uint64_t> size() const {
        if (const auto* borrowed = std::get_if<std::string_view>(&content_)) [[likely]]
            return borrowed->size();
        return size_of_others();
    }
    // The whole body, if it is in memory.
    std::optional<std::string_view> text() const {
        if (const auto* borrowed = std::get_if<std::string_view>(&content_)) [[likely]]
            return *borrowed;
        return text_of_others();
    }
    // Whether the body holds an owner that others may wait for.
    bool is_shared() const { return std::holds_alternative<SharedText>(content_); }
    FilePart* as_file() { return std::get_if<FilePart>(&content_); }
    Produced* as_produced() { return std::get_if<Produced>(&content_); }

private:
    struct SharedText {
        std::shared_ptr<const void> owner;
        std::string_view text;
    };
    using Content = std::variant<std::string_view, std::string, SharedText, FilePart, Produced>;
    explicit Body(Content content) : content_(std::move(content)) {}
    std::optional<std::uint64_t> size_of_others() const;
    std::optional<std::string_view> text_of_others() const;
    bool is_borrowed() const { return content_.index() == 0; }

    Content content_;
};

}  // namespace weft::http
