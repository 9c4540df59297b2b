// Resource: the file or directory at a path, opened, so that it can be sent many times. Immutable
// once it is loaded; any thread may then read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/fiber/os/directory.h"
#include "weft/fiber/os/file.h"
#include "weft/http/wire/content_coding.h"

namespace weft::http {

// A file, either the requested one (Identity) or a compressed copy that lies beside it.
struct Representation {
    wire::Coding coding = wire::Coding::Identity;
    FileStatus status;
    std::string etag;           // with its quotation marks
    std::string modified_text;  // the value of Last-Modified
    bool is_in_memory = false;
    std::string content;  // of status.size bytes if it is in memory, else empty
    File file;            // open unless the content is in memory

    std::int64_t modified_seconds() const;
};

// Shared by the cache and the responses that send it.
struct Resource {
    enum class Kind : std::uint8_t {
        File,       // has at least one representation, of which the first is Identity
        Directory,  // the path lacks the slash at its end
        Listing,    // a directory without an index, of which a list is wanted
    };
    Kind kind = Kind::File;
    std::string_view content_type;
    std::vector<Representation> representations;
    std::size_t memory_bytes = 0;  // of the content of all representations

    // Whether both were loaded from the same files, which have not changed in between.
    bool is_same_as(const Resource& other) const;
};

struct LoadOptions {
    std::string index;          // of a directory; empty: none
    bool lists = false;         // whether a directory without an index gives a Listing
    bool precompressed = true;  // whether to look for compressed copies
    Links links = Links::Refuse;
    std::size_t memory_file_bytes_max = 0;  // a file up to this size is read into memory
};

// Blocks the calling thread. `path` begins with a slash and is decoded and normalized. ENOENT if it
// names neither a regular file nor a directory that has an index or is listed.
Result<std::shared_ptr<const Resource>> load_resource(const Directory& root,
                                                      const std::string& path,
                                                      const LoadOptions& options);

}  // namespace weft::http
