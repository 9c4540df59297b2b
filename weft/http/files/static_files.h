// Static files: a handler that sends what lies below a directory.
//
//     router.mount("/assets", WEFT_TRY(http::static_files("public")));
//
// GET and HEAD; conditional requests (RFC 9110 §13) by ETag and Last-Modified, ranges (§14), files
// that were compressed beforehand ("app.js.br", ".zst", ".gz" beside "app.js") for clients that
// take them, the index of a directory, and where it is wanted a list of what is in it.
//
// No path leads out of the directory, whatever it says and whatever others rename or link there
// meanwhile (see fiber/os/directory.h). What is no regular file is not there, nor are names that
// begin with a dot. Not found is 404, not readable 403, no descriptors or memory 503.
//
// Files that were asked for stay open for a while, small ones in memory, within limits; a change
// is seen after fresh_time at the latest. Put new content in place by renaming: of a file that is
// overwritten while it is sent, old and new parts may arrive, since the kernel sends its pages as
// they are. One that shrinks meanwhile ends the connection, for its length has been promised.
//
// static_files(): anywhere. The handler: any fiber, many at once; it parks for the disk.
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
    Links links = Links::Refuse;  // symbolic ones
    Precompressed precompressed = Precompressed::Use;
    std::string cache_control = {};  // sent with every file; empty: none

    Nanoseconds fresh_time = std::chrono::seconds(1);  // before a file is looked at again
    std::size_t cached_files_max = 1024;               // compressed ones count by themselves
    std::size_t memory_bytes_max = 16 * 1024 * 1024;   // for the content of small files
    std::size_t memory_file_bytes_max = 64 * 1024;     // what is small
};

// The error is that of opening the directory.
Result<Handler> static_files(const std::string& directory, StaticFilesOptions options = {});

}  // namespace weft::http
