#include "weft/http/middleware/body_file.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/http/request.h"

namespace weft::http {
namespace {

constexpr std::size_t kWriteBytes = 64 * 1024;

Error too_large(std::uint64_t bytes_max) {
    return Error::limit("the body has more bytes than", bytes_max, "BodyFileOptions::bytes_max");
}

}  // namespace

Result<std::unique_ptr<BodyFile>> BodyFile::save(BodyReader& body, const BodyFileOptions& options) {
    body.set_bytes_max(options.bytes_max);
    if (body.size().value_or(0) > options.bytes_max) {
        // A reader that enforces the limit itself fails here, and the server answers 413.
        std::array<std::byte, 1> space;
        WEFT_TRY(body.read(space));
        return too_large(options.bytes_max);
    }
    std::string path = format("{}/weft-body-{:016x}{:016x}", options.folder,
                              env::random(RandomStream::Secret), env::random(RandomStream::Secret));
    File file = WEFT_TRY(File::open(
        path,
        {.write = true, .create = true, .exclusive = true, .permissions = options.permissions}));
    std::unique_ptr<BodyFile> saved(new BodyFile(  // tidy: allow new: the constructor is private
        std::move(path), std::move(file)));
    WEFT_TRY(saved->fill(body, options.bytes_max));
    return saved;
}

Result<void> BodyFile::fill(BodyReader& body, std::uint64_t bytes_max) {
    // One byte more than the body has, so that its end is seen without another round.
    std::vector<std::byte> buffer(
        1 + std::min<std::uint64_t>(kWriteBytes - 1, body.size().value_or(kWriteBytes)));
    for (;;) {
        // Fill the buffer before writing, so that many small reads make one write.
        std::size_t filled = 0;
        bool ended = false;
        while (filled < buffer.size() && !ended) {
            std::size_t count = WEFT_TRY(body.read(ByteSpace(buffer).subspan(filled)));
            WEFT_ASSERT(count <= buffer.size() - filled, "a read fills its space at most");
            filled += count;
            ended = count == 0;
        }
        WEFT_ASSERT(size_ <= bytes_max, "what is left would be huge");
        if (filled > bytes_max - size_) return too_large(bytes_max);
        Bytes piece(buffer.data(), filled);
        WEFT_TRY(file_.write_all(piece));
        size_ += filled;
        if (ended) return {};
    }
}

// Removes the file on a blocking thread where there is one: removing a large file takes time, and a
// destructor should not park.
BodyFile::~BodyFile() {
    if (is_kept_) return;
    // Shared only because the function must be copyable. Closing the file last frees its blocks.
    auto file = std::make_shared<File>(std::move(file_));
    auto remove = [path = std::move(path_), file = std::move(file)] {
        static_cast<void>(files::remove(path));
    };
    if (BlockingPool* pool = blocking_internal::pool_here()) {
        pool->run_detached(std::move(remove));
    } else {
        remove();
    }
}

Result<void> BodyFile::keep(const std::string& path) {
    WEFT_TRY(files::rename(path_, path));
    path_ = path;
    is_kept_ = true;
    return {};
}

Middleware body_to_file(BodyFileOptions options) {
    return [options = std::move(options)](Handler next) -> Handler {
        return [options, next = std::move(next)](Request& request,
                                                 async::Context& outer) -> Result<Response> {
            // Shared with code that copies the pointer out of the context.
            std::shared_ptr<BodyFile> saved = WEFT_TRY(BodyFile::save(request.body(), options));
            async::Context context = outer.with_value(kBodyFile, std::move(saved));
            CancelScope ambient(context.token());
            return next(request, context);
        };
    };
}

}  // namespace weft::http
