// BodyFile: saves the body of a request in a temporary file, for uploads too large for memory.
//
//     router.post("/upload", http::body_to_file({.bytes_max = 1 << 30})(
//         [](http::Request&, async::Context& context) -> Result<http::Response> {
//             http::BodyFile& upload = **context.value(http::kBodyFile);
//             WEFT_TRY(upload.keep("/srv/uploads/" + name));      // else it is removed
//             return http::Response::plain(201);
//         }));
//
// The body is written as it arrives, through a buffer of at most 64 KiB. The object owns the file,
// and its destructor removes it, however the request ends, unless keep() has moved it. Only a
// process that is killed leaves a file behind ("weft-body-…" in the folder).
//
// Owned by the fiber of the request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/async/context.h"
#include "weft/base/result.h"
#include "weft/fiber/os/file.h"
#include "weft/http/body.h"
#include "weft/http/response.h"

namespace weft::http {

struct BodyFileOptions {
    std::string folder = "/tmp";                    // keep() needs a path on the same file system
    std::uint64_t bytes_max = 64ULL * 1024 * 1024;  // replaces the server's limit; more is 413
    std::uint32_t permissions = 0600;
};

class BodyFile {
public:
    // Reads the whole body, up to the limit. No file is left behind after an error.
    static Result<std::unique_ptr<BodyFile>> save(BodyReader& body,
                                                  const BodyFileOptions& options = {});
    ~BodyFile();
    BodyFile(const BodyFile&) = delete;
    BodyFile& operator=(const BodyFile&) = delete;

    const std::string& path() const { return path_; }
    std::uint64_t size() const { return size_; }
    const File& file() const { return file_; }  // open for reading and writing

    // Renames the file atomically, within the same file system; an existing file is replaced. The
    // destructor then does not remove it.
    Result<void> keep(const std::string& path);

private:
    BodyFile(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
    Result<void> fill(BodyReader& body, std::uint64_t bytes_max);

    std::string path_;
    File file_;
    std::uint64_t size_ = 0;
    bool is_kept_ = false;
};

// Where body_to_file() stores the file in the context. Code that needs the file after the handler
// has returned, such as the producer of a response body, must copy the pointer.
inline constexpr async::ContextKey<std::shared_ptr<BodyFile>> kBodyFile;

// Saves the body before the handler is called. A body that is too large, too slow or cut off is
// answered as if the handler had read it.
Middleware body_to_file(BodyFileOptions options = {});

}  // namespace weft::http
