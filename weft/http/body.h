// Bodies: what follows the head of a message, as a stream.
//
// A BodyReader gives what the other side sends, a BodyWriter takes what it shall get; both wait for
// the other side, so memory stays bounded whatever the size. A Body is what a message is sent with:
// a text, a piece of a file, or a function that writes it piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "weft/base/bytes.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/os/file.h"
#include "weft/http/headers.h"

namespace weft::http {

// Owned by the fiber that reads it.
class BodyReader {
public:
    virtual ~BodyReader() = default;

    // At least one byte, or 0 at the end. After an error every call gives the same error: Limit
    // (too large), TimedOut (too slow), Closed (cut off), Other (malformed). But what only the end
    // of the reader's context has interrupted can go on in another context.
    virtual Result<std::size_t> read(ByteSpace space) = 0;
    // What the head says about its size; nothing if it will be seen.
    virtual std::optional<std::uint64_t> size() const = 0;
    // Of a chunked body, after its end.
    virtual const Headers& trailers() const = 0;

    // Instead of the server's limit, before the first read: of a route that takes more, or less.
    virtual void set_bytes_max(std::uint64_t bytes_max) { static_cast<void>(bytes_max); }

    // All of it, Limit if it is more than that.
    Result<std::string> read_all(std::size_t bytes_max = SIZE_MAX);

protected:
    // So many more of its bytes are kept in memory. Limit when that is too much for whoever counts.
    virtual Result<void> hold(std::uint64_t bytes) {
        static_cast<void>(bytes);
        return {};
    }
};

// Owned by the fiber that writes it. An error means that the other side is gone.
class BodyWriter {
public:
    virtual ~BodyWriter() = default;

    // Waits while the other side is slow. Small pieces are gathered until flush() or the end.
    virtual Result<void> write(Bytes bytes) = 0;
    Result<void> write(std::string_view text) { return write(as_bytes(text)); }
    // What was written is on its way.
    virtual Result<void> flush() = 0;
    // Sent after a body whose size was not given; set them before the producer returns.
    virtual Headers& trailers() = 0;
    // Cancelled when the server drains: a body that has no end of its own ends then.
    virtual CancelToken drain() const { return {}; }

    // Called once, when the other side does not take at once what is written: whoever writes can
    // have prepared meanwhile what comes next.
    using BeforeWait = std::move_only_function<void()>;
    virtual void set_before_wait(BeforeWait before_wait) { static_cast<void>(before_wait); }
};

class Body {
public:
    // Writes the body, on the fiber of the connection, after the head has been sent. Its error cuts
    // the body off, and the other side sees that.
    using Producer = std::move_only_function<Result<void>(BodyWriter&)>;

    struct FilePart {
        std::shared_ptr<const File> file;  // with a cache of open files
        std::uint64_t offset = 0;
        std::uint64_t count = 0;
    };
    struct Produced {
        Producer producer;
        std::optional<std::uint64_t> size;  // nothing: chunked
    };

    Body() = default;  // empty
    // Without a look at all that it could be, where it is a text of somebody else.
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
    // The text outlives the message: a literal, for one.
    static Body borrowed(std::string_view text) { return Body(Content(text)); }
    // The text lives as long as its owner, which whoever shares it holds: a cache of files, for
    // one.
    static Body shared(std::shared_ptr<const void> owner, std::string_view text) {
        return Body(Content(SharedText{std::move(owner), text}));
    }
    static Body file(std::shared_ptr<const File> file, std::uint64_t offset, std::uint64_t count) {
        return Body(Content(FilePart{std::move(file), offset, count}));
    }
    static Body produced(Producer producer, std::optional<std::uint64_t> size = {}) {
        return Body(Content(Produced{std::move(producer), size}));
    }

    std::optional<std::uint64_t> size() const {
        if (const auto* borrowed = std::get_if<std::string_view>(&content_)) [[likely]]
            return borrowed->size();
        return size_of_others();
    }
    // The whole body where it lies in memory.
    std::optional<std::string_view> text() const {
        if (const auto* borrowed = std::get_if<std::string_view>(&content_)) [[likely]]
            return *borrowed;
        return text_of_others();
    }
    // Whether the text is somebody else's, who may want it back.
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
