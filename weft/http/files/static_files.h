// Static files: a handler that serves the files below a directory.
//
//     router.mount("/assets", WEFT_TRY(http::static_files("public")));
//
// It supports GET and HEAD, conditional requests (RFC 9110 §13) by ETag and Last-Modified, ranges
// (§14), precompressed files ("app.js.br", ".zst", ".gz" beside "app.js") for clients that accept
// them, the index of a directory and, as an option, a listing of it.
//
// No path leads out of the directory, whatever it contains, and whatever is renamed or linked in
// the directory meanwhile (see fiber/os/directory.h). Only regular files are served, and by default
// no names that begin with a dot. The answer is 404 for a file that does not exist, 403 for one
// that cannot be read, and 503 without descriptors or memory.
//
// Within limits, requested files stay open for a while, and small ones in memory. A change is
// noticed after fresh_time at the latest. Replace files by renaming: if a file is overwritten while
// it is sent, old and new parts may be mixed, since the kernel sends its pages as they are. If it
// shrinks meanwhile the connection is closed, because the head has already stated its length.
//
// static_files(): any thread. The handler: any fiber, many at once; it parks during disk access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/os/directory.h"
#include "weft/http/response.h"

namespace weft::http {

enum class Dotfiles : bool { Hide, Show };
enum class Listing : bool { Off, On };
enum class Precompressed : bool { Ignore, Use };

struct StaticFilesOptions {
    std::string index = "index.html";  // of a directory; empty: none
    Listing listing = Listing::Off;    // of a directory without an index
    Dotfiles dotfiles = Dotfiles::Hide;
    Links links = Links::Refuse;  // symbolic links
    Precompressed precompressed = Precompressed::Use;
    std::string cache_control = {};  // sent with every file; empty: none

    Nanoseconds fresh_time = std::chrono::seconds(1);  // until a cached file is checked again
    std::size_t cached_files_max = 1024;               // precompressed files are counted too
    std::size_t memory_bytes_max = 16 * 1024 * 1024;   // of the content of small files
    std::size_t memory_file_bytes_max = 64 * 1024;     // larger files are not kept in memory
};

// The error is that of opening the directory.
Result<Handler> static_files(const std::string& directory, StaticFilesOptions options = {});

}  // namespace weft::http
