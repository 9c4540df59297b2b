// The body of a request in a temporary file: for uploads that are too large for memory.
//
//     router.post("/upload", http::body_to_file({.bytes_max = 1 << 30})(
//         [](http::Request&, async::Context& context) -> Result<http::Response> {
//             http::BodyFile& upload = **context.value(http::kBodyFile);
//             WEFT_TRY(upload.keep("/srv/uploads/" + name));      // or it is removed
//             return http::Response::plain(201);
//         }));
//
// The body is written as it comes, by at most 64 KiB of memory. The file belongs to the one object;
// it is removed with it, whatever way the request ends, unless keep() has moved it. Only a process
// that is killed leaves one behind ("weft-body-…" in the folder).
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
    std::string folder = "/tmp";                    // on the disk where it is to be kept
    std::uint64_t bytes_max = 64ULL * 1024 * 1024;  // of this route; more is 413
    std::uint32_t permissions = 0600;
};

class BodyFile {
public:
    // Reads all of the body, up to the limit. What fails leaves no file behind.
    static Result<std::unique_ptr<BodyFile>> save(BodyReader& body,
                                                  const BodyFileOptions& options = {});
    ~BodyFile();
    BodyFile(const BodyFile&) = delete;
    BodyFile& operator=(const BodyFile&) = delete;

    const std::string& path() const { return path_; }
    std::uint64_t size() const { return size_; }
    const File& file() const { return file_; }  // open for reading and writing

    // Moves the file there, in one step, on the same disk; it is no longer removed. What was there
    // is replaced.
    Result<void> keep(const std::string& path);

private:
    BodyFile(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
    Result<void> fill(BodyReader& body, std::uint64_t bytes_max);

    std::string path_;
    File file_;
    std::uint64_t size_ = 0;
    bool is_kept_ = false;
};

// Where body_to_file() leaves it. Whoever still needs the file after the handler has returned, such
// as the producer of a body, copies the pointer.
inline constexpr async::ContextKey<std::shared_ptr<BodyFile>> kBodyFile;

// Saves the body before the handler is called. One that is too large, too slow or cut off is
// answered as if the handler had read it.
Middleware body_to_file(BodyFileOptions options = {});

}  // namespace weft::http
