// Resource: what lies at a path, opened, so that it can be sent at once and many times.
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

// A file as it is, or as somebody has compressed it beforehand.
struct Representation {
    wire::Coding coding = wire::Coding::Identity;
    FileStatus status;
    std::string etag;
    std::string modified_text;  // as Last-Modified has it
    bool is_in_memory = false;
    std::string content;  // if it is in memory; else there is the file
    File file;

    std::int64_t modified_seconds() const;
};

// Immutable; shared by the cache and the responses that send it.
struct Resource {
    enum class Kind : std::uint8_t {
        File,       // with at least one representation, the first as it is
        Directory,  // whose name was written without a slash at the end
        Listing,    // a directory without an index
    };
    Kind kind = Kind::File;
    std::string_view content_type;
    std::vector<Representation> representations;
    std::size_t memory_bytes = 0;

    // The files behind it are those of the other, unchanged.
    bool is_same_as(const Resource& other) const;
};

struct LoadOptions {
    std::string index;  // of a directory; empty: none
    bool lists = false;
    bool precompressed = true;
    Links links = Links::Refuse;
    std::size_t memory_file_bytes_max = 0;  // what is not larger is read into memory
};

// Blocks the calling thread. `path` begins with a slash and is decoded and normalized. ENOENT for
// what is no file and no directory.
Result<std::shared_ptr<const Resource>> load_resource(const Directory& root,
                                                      const std::string& path,
                                                      const LoadOptions& options);

}  // namespace weft::http
